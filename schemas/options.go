package schemas

// Option has a tool's arguments differ from what its struct says, for a server that was
// configured so.
type Option func(*object)

// Without leaves arguments out: they are refused as unknown.
func Without(names ...string) Option {
	return func(a *object) {
		for _, name := range names {
			a.schema.Properties.Delete(name)
		}
	}
}

// Choices gives the texts that an argument may be.
func Choices(name string, texts ...string) Option {
	return func(a *object) {
		property, _ := a.schema.Properties.Get(name)
		property.Enum = nil
		for _, text := range texts {
			property.Enum = append(property.Enum, text)
		}
	}
}

package plugins

import "understudy/schemas"

// document is a NAME.yaml. The committed schema is made of it.
type document struct {
	Name          string             `json:"name" jsonschema:"minLength=1" jsonschema_description:"The name that code calls; that of the file without .yaml."`
	Description   string             `json:"description" jsonschema:"minLength=1,maxLength=4000" jsonschema_description:"What it does and returns, for agents. The first sentence stands in lists."`
	Enabled       *bool              `json:"enabled,omitempty" jsonschema_description:"Whether there is the plugin; true when left out."`
	Parameters    []parameter        `json:"parameters,omitempty" jsonschema:"maxItems=50" jsonschema_description:"What it takes, in order."`
	Returns       []returned         `json:"returns,omitempty" jsonschema:"maxItems=20" jsonschema_description:"What it returns; several values are a tuple."`
	Examples      []string           `json:"examples,omitempty" jsonschema:"maxItems=20" jsonschema_description:"Calls as code would make them."`
	Configuration map[string]setting `json:"configuration,omitempty" jsonschema_description:"What the plugin reads as context.config, by name."`
	Preload       []string           `json:"preload,omitempty" jsonschema:"maxItems=50" jsonschema_description:"Modules that it imports, to be imported before interpreters are forked."`
	Annotations   Annotations        `json:"annotations,omitzero" jsonschema_description:"Hints to clients where each plugin is a tool (--mode plugin-only)."`
}

// parameter is one of what a plugin takes. Without a default, and without
// required: false, callers must give it.
type parameter struct {
	Name        string `json:"name" jsonschema:"minLength=1" jsonschema_description:"A Python name."`
	Type        string `json:"type" jsonschema:"enum=str,enum=int,enum=float,enum=bool,enum=list,enum=dict,enum=any" jsonschema_description:"What values it takes. any is a DataFrame too."`
	Description string `json:"description,omitempty" jsonschema:"maxLength=2000"`
	Required    *bool  `json:"required,omitempty" jsonschema_description:"Whether callers must give it; true when left out and there is no default."`
	Default     any    `json:"default,omitempty" jsonschema_description:"Its value when left out; null when required is false and this is left out."`
	Enum        []any  `json:"enum,omitempty" jsonschema:"minItems=1,maxItems=100" jsonschema_description:"The only values that it takes."`

	hasDefault bool // there is one, perhaps null
}

// required reports whether callers must give it.
func (p parameter) required() bool {
	if p.Required != nil {
		return *p.Required
	}
	return !p.hasDefault
}

// returned is one of what a plugin returns.
type returned struct {
	Name        string `json:"name" jsonschema:"minLength=1"`
	Type        string `json:"type" jsonschema:"enum=str,enum=int,enum=float,enum=bool,enum=list,enum=dict,enum=any,enum=DataFrame"`
	Description string `json:"description,omitempty" jsonschema:"maxLength=2000"`
}

// setting is one of what the operator may set for a plugin.
type setting struct {
	Type        string `json:"type,omitempty" jsonschema:"enum=str,enum=int,enum=float,enum=bool,enum=list,enum=dict,enum=any" jsonschema_description:"What values it takes; any when left out."`
	Description string `json:"description,omitempty" jsonschema:"maxLength=2000"`
	Default     any    `json:"default,omitempty" jsonschema_description:"Its value when the operator sets none; without it the operator must."`
	Value       any    `json:"value,omitempty" jsonschema_description:"What the operator has set."`
}

// Annotations are hints of MCP to clients about the plugin as a tool; what is nil its
// author has not said.
type Annotations struct {
	Title       string `json:"title,omitempty" jsonschema:"maxLength=100" jsonschema_description:"A name for people."`
	ReadOnly    *bool  `json:"read_only,omitempty" jsonschema_description:"It changes nothing."`
	Destructive *bool  `json:"destructive,omitempty" jsonschema_description:"It may change or remove what is there, rather than add only."`
	Idempotent  *bool  `json:"idempotent,omitempty" jsonschema_description:"Calling it again with the same arguments does no more."`
	OpenWorld   *bool  `json:"open_world,omitempty" jsonschema_description:"It reaches beyond this machine."`
}

// Schema is the contract with authors of plugins, as schemas/plugin.json has it.
func Schema() ([]byte, error) { return schemas.Reflect(document{}) }

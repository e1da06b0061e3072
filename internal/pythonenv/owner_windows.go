package pythonenv

// strangersOwn returns "": Windows has no directory in which everybody may write.
func strangersOwn(string) string { return "" }

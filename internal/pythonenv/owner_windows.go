package pythonenv

// strangersOwn returns "": Windows has no directory in which everybody may write.
func strangersOwn(_, _, _ string) string { return "" }

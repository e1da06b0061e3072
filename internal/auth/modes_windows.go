package auth

// hasModes is true where a file's mode says who may write to it. Windows has
// access lists, which Go doesn't show.
const hasModes = false

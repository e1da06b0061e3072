// Package workertest holds the behaviour that every sessions.Starter must show,
// as tests with real Pythons, and what such tests need.
package workertest

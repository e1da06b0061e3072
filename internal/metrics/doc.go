// Package metrics counts what the server does, for Prometheus. No label names a
// client, an interpreter or anything else of which there may be any number: all
// values of all labels are listed in this package or are few by their nature.
package metrics

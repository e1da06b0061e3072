package clientconfig

import (
	"errors"
	"fmt"
	"reflect"
)

// errByHand is for files that are valid but written in a way that can't be
// changed without the risk of harm.
var errByHand = errors.New("it is written in a way that can't be changed safely; add the server by hand, as install --print shows it")

// checkRest makes sure that an edited file differs from the original in the
// server's own entry alone. It guards against whatever the editing overlooks:
// duplicate keys, for one.
func checkRest(before, after []byte, decode func([]byte) (map[string]any, error), servers, name string) error {
	old, err := decode(before)
	if err != nil {
		return fmt.Errorf("it can't be read; repair it first: %w", err)
	}
	changed, err := decode(after)
	if err != nil || !hasEntry(changed, servers, name) {
		return errByHand
	}
	if !reflect.DeepEqual(without(old, servers, name), without(changed, servers, name)) {
		return errByHand
	}
	return nil
}

func hasEntry(document map[string]any, servers, name string) bool {
	entries, ok := document[servers].(map[string]any)
	if !ok {
		return false
	}
	_, ok = entries[name].(map[string]any)
	return ok
}

// without removes the entry, and the servers if there are no others.
func without(document map[string]any, servers, name string) map[string]any {
	if entries, ok := document[servers].(map[string]any); ok {
		delete(entries, name)
		if len(entries) == 0 {
			delete(document, servers)
		}
	}
	return document
}

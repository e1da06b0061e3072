package answer

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"understudy/sessions/output"
)

// Cut keeps head and tail of a text, limit characters in all, with a marker
// between that counts what is missing. earlier is the number in a marker that
// sessions has put into the text already: the two become one. It returns the
// number of characters that it dropped itself.
func Cut(text string, limit int, earlier int64) (string, int64) {
	total := utf8.RuneCountInString(text)
	if total <= limit {
		return text, 0
	}
	head, tail, marked := strings.Cut(text, output.Marker(earlier))
	if earlier == 0 || !marked {
		head, earlier = First(text, total-total/2), 0
		tail = text[len(head):]
	}
	limit = max(0, limit-len(output.Marker(int64(len(text))+earlier)))
	heads, tails := utf8.RuneCountInString(head), utf8.RuneCountInString(tail)
	shares := share(limit, tails, heads)
	dropped := int64(tails - shares[0] + heads - shares[1])
	return First(head, shares[1]) + output.Marker(earlier+dropped) + last(tail, shares[0]), dropped
}

// CutBytes is Cut for a text that must also travel in at most size bytes:
// control characters and the like take up to six.
func CutBytes(text string, limit, size int) string {
	for {
		short, _ := Cut(text, limit, 0)
		needed := Size(short)
		if needed <= size || limit <= 0 {
			return short
		}
		limit = min(limit, utf8.RuneCountInString(short)) * max(0, size) / needed * 9 / 10
	}
}

// First returns the first n characters.
func First(text string, n int) string {
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// last returns the last n characters.
func last(text string, n int) string {
	i := len(text)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return text[i:]
}

// Clip shortens a text for a place where a marker would be too much.
func Clip(text string, n int) string {
	if short := First(text, n); len(short) < len(text) {
		return short + "…"
	}
	return text
}

// OneLine is a text with single blanks between its words.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// share divides a total so that small needs are met in full and the rest is
// shared equally among the large ones.
func share(total int, needs ...int) []int {
	order := make([]int, len(needs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(needs[a], needs[b]) })
	shares := make([]int, len(needs))
	for done, i := range order {
		shares[i] = max(0, min(needs[i], total/(len(needs)-done)))
		total -= shares[i]
	}
	return shares
}

// Size returns the number of bytes a value takes in a message.
func Size(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0 // it won't travel
	}
	return len(raw)
}

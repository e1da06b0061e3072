package preview

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

const (
	npyHeader   = 64 << 10 // bytes that a header may have
	shownArrays = 20       // of an archive
)

var (
	errNPY    = errors.New("not a file of numpy's")
	npyType   = regexp.MustCompile(`'descr': *(?:'([^']{1,20})'|(\[))`)
	npyShape  = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)
	npyLetter = map[byte]string{'f': "float", 'i': "int", 'u': "uint", 'c': "complex", 'b': "bool", 'U': "text", 'S': "bytes", 'M': "datetime", 'm': "timedelta", 'O': "object"}
)

// readNPY describes an array from its header.
func readNPY(s *source, _ *entry) (section, error) {
	words, err := npy(io.NewSectionReader(s, 0, s.size()))
	if err != nil {
		return section{}, err
	}
	return section{head: "numpy array: " + words}, nil
}

// readNPZ describes the arrays of an archive from their headers.
func readNPZ(s *source, _ *entry) (section, error) {
	archive, err := zip.NewReader(s, s.size())
	if err != nil {
		return section{}, fmt.Errorf("%w: %w", errNPY, err)
	}
	out := section{head: "numpy archive, " + count(int64(len(archive.File)), "array")}
	for i, file := range archive.File {
		if i == shownArrays {
			out.full = append(out.full, fmt.Sprintf("- … and %s", count(int64(len(archive.File)-i), "more array")))
			break
		}
		words, err := npyWithin(file)
		if err != nil {
			words = inWords(err)
		}
		out.full = append(out.full, "- "+named(strings.TrimSuffix(file.Name, ".npy"))+": "+words)
	}
	out.simple = strings.Join(out.full, "\n")
	return out, nil
}

func npyWithin(file *zip.File) (string, error) {
	r, err := file.Open()
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	return npy(r)
}

// npy reads a header: a magic word, two bytes of version, a length and a literal of
// Python's.
func npy(r io.Reader) (string, error) {
	start := make([]byte, 10)
	if _, err := io.ReadFull(r, start); err != nil || string(start[:6]) != "\x93NUMPY" {
		return "", errNPY
	}
	length := int64(binary.LittleEndian.Uint16(start[8:]))
	if start[6] >= 2 {
		rest := make([]byte, 2)
		if _, err := io.ReadFull(r, rest); err != nil {
			return "", errNPY
		}
		length |= int64(binary.LittleEndian.Uint16(rest)) << 16
	}
	if length > npyHeader {
		return "", errNPY
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return "", errNPY
	}
	kind, shape := npyType.FindSubmatch(header), npyShape.FindSubmatch(header)
	if kind == nil || shape == nil {
		return "", errNPY
	}
	dimensions := strings.FieldsFunc(string(shape[1]), func(r rune) bool { return r == ',' || r == ' ' })
	words := "a single value"
	if len(dimensions) > 0 {
		words = strings.Join(dimensions, " × ")
	}
	return clean(words, mostOfName) + ", " + clean(npyKind(string(kind[1])), mostOfCell), nil
}

// npyKind is numpy's name of a type that is written as "<f8".
func npyKind(code string) string {
	code = strings.TrimLeft(code, "<>|=")
	if code == "" {
		return "records"
	}
	name := npyLetter[code[0]]
	switch {
	case name == "":
		return code
	case strings.ContainsRune("fiuc", rune(code[0])) && len(code) == 2 && isDigit(code[1]):
		return fmt.Sprint(name, int(code[1]-'0')*8)
	case code == "c16":
		return "complex128"
	case code[0] == 'U' || code[0] == 'S':
		return name + " of up to " + code[1:] + " characters"
	}
	return name
}

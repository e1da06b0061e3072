package main

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// bundle packs the bundle for Claude Desktop, one for every machine: a manifest can tell
// systems apart, but not processors. So macOS gets both in one program, Windows on ARM
// runs the other's, and Linux is there for x86 alone.
func (d distribution) bundle() ([]byte, error) {
	manifest, err := os.ReadFile(filepath.Join("deploy", "mcpb", "manifest.json"))
	if err != nil {
		return nil, err
	}
	manifest = bytes.ReplaceAll(manifest, []byte(d.release), []byte(d.version))
	files := append([]file{{"manifest.json", 0o644, manifest}}, d.notices...)
	for _, program := range []struct {
		name  string
		parts []string
	}{
		{"server/understudy-linux", []string{"linux-amd64/understudy"}},
		{"server/understudy-darwin", []string{"darwin-amd64/understudy", "darwin-arm64/understudy"}},
		{"server/understudy.exe", []string{"windows-amd64/understudy.exe"}},
	} {
		text, err := d.universal(program.parts)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "dist: the bundle is without %s: %v\n", program.name, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, file{program.name, 0o755, text})
	}
	return d.write(d.name(".mcpb"), packZip, files)
}

// universal returns the one program of its parts.
func (d distribution) universal(parts []string) ([]byte, error) {
	texts := make([][]byte, len(parts))
	for i, part := range parts {
		var err error
		if texts[i], err = os.ReadFile(filepath.Join(d.built, filepath.FromSlash(part))); err != nil {
			return nil, err
		}
	}
	if len(texts) == 1 {
		return texts[0], nil
	}
	return joinMachO(texts)
}

// pageBits is how programs of macOS are aligned in a joint one: to pages of 16 KiB.
const pageBits = 14

// joinMachO makes a universal program of macOS: a list of the processors and places, then
// the programs as they are, with the signatures that the linker gave them.
func joinMachO(programs [][]byte) ([]byte, error) {
	type arch struct{ CPU, SubCPU, Offset, Size, Align uint32 }
	heads := make([]arch, len(programs))
	var body bytes.Buffer
	for i, program := range programs {
		parsed, err := macho.NewFile(bytes.NewReader(program))
		if err != nil {
			return nil, fmt.Errorf("a program for macOS: %w", err)
		}
		start := (body.Len()>>pageBits + 1) << pageBits // the first page is the list's
		heads[i] = arch{uint32(parsed.Cpu), parsed.SubCpu, uint32(start), uint32(len(program)), pageBits}
		body.Write(make([]byte, start-body.Len()))
		body.Write(program)
	}
	var list bytes.Buffer
	for _, part := range []any{macho.MagicFat, uint32(len(heads)), heads} {
		if err := binary.Write(&list, binary.BigEndian, part); err != nil {
			return nil, err
		}
	}
	return append(list.Bytes(), body.Bytes()[list.Len():]...), nil
}

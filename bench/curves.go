package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed draw_curves.py
var curveDrawer string

// imagesDir holds the drawings that the document shows.
const imagesDir = "docs/images"

// curve is a drawing of some measurements.
type curve struct {
	File  string `json:"file"`
	Title string `json:"title"`
	X     axis   `json:"x"`
	Y     axis   `json:"y"`
	Lines []line `json:"lines"`
}

// axis names what is drawn along it, with the unit.
type axis struct {
	Label string `json:"label"`
	Log   bool   `json:"log"`
}

// line joins points; Low and High, if there are any, are the ranges of Y.
type line struct {
	Name   string    `json:"name"`
	X      []float64 `json:"x"`
	Y      []float64 `json:"y"`
	Low    []float64 `json:"low,omitempty"`
	High   []float64 `json:"high,omitempty"`
	Mark   bool      `json:"mark"`   // show the points
	Dashed bool      `json:"dashed"` // not measured: a limit, or calculated
}

func (l *line) add(x, y float64) { l.X, l.Y = append(l.X, x), append(l.Y, y) }

// draw draws all curves of the report into a directory.
func (r *report) draw(ctx context.Context, python, dir string) error {
	var curves []*curve
	for _, t := range r.tables {
		if t.curve != nil {
			curves = append(curves, t.curve)
		}
	}
	if len(curves) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	wanted, err := json.Marshal(curves)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, "-c", curveDrawer, filepath.Clean(dir))
	cmd.Stdin = strings.NewReader(string(wanted))
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("drawing the curves: %w%s", err, said)
	}
	return nil
}

package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strings"
)

// The area that metric.svg.tmpl leaves for trials, in pixels.
const plotLeft, plotRight, plotTop, plotBottom = 84, 766, 50, 272

//go:embed metric.svg.tmpl
var plotSource string

var plotTemplate = template.Must(template.New("metric.svg").Funcs(template.FuncMap{
	"at": func(place float64) string { return fmt.Sprintf("%.1f", place) },
}).Parse(plotSource))

// plot is the metric over the trials.
type plot struct {
	Title                 string
	Values, Trials, Marks []plotMark
	BestSoFar             string // a path
	low, high             float64
	trials                int
}

// plotMark is a text or a shape at a place.
type plotMark struct {
	X, Y        float64
	Text, Shape string // the shape is a stage, or "buggy"
	Best        bool
}

// metricPlot is the file metric.svg, nil where nothing was measured: a mark for each
// trial, by its stage, a cross below for a buggy one, and a line of the best so far.
func metricPlot(x *Experiment) ([]byte, error) {
	p := &plot{low: math.Inf(1), high: math.Inf(-1)}
	for _, e := range x.Executions {
		if t := e.Trial; t != nil {
			p.trials = max(p.trials, t.Number)
			if t.Metric != nil {
				p.low, p.high = min(p.low, *t.Metric), max(p.high, *t.Metric)
			}
		}
	}
	if p.low > p.high {
		return nil, nil
	}
	name, maximize := x.metric()
	if others := x.otherMetrics(); len(others) > 0 {
		p.Title = " (some: " + strings.Join(others, ", ") + ")"
	}
	p.Title = readable(fmt.Sprintf("%s%s by trial, %s is better", name, p.Title, direction(maximize)))
	p.scale()
	p.draw(x, name, maximize)
	var text bytes.Buffer
	if err := plotTemplate.Execute(&text, p); err != nil {
		return nil, fmt.Errorf("drawing the plot: %w", err)
	}
	return text.Bytes(), nil
}

// scale takes the values' range to round numbers, and names them and the trials.
func (p *plot) scale() {
	if p.low == p.high {
		by := math.Abs(p.low) * 0.05
		if by == 0 {
			by = 1
		}
		p.low, p.high = p.low-by, p.high+by
	}
	raw := p.high/4 - p.low/4 // each by itself, as the difference may be infinite
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, times := range []float64{5, 2, 1} {
		if raw <= times*power {
			step = times * power
		}
	}
	low, high := math.Floor(p.low/step)*step, math.Ceil(p.high/step)*step
	if !math.IsInf(high-low, 0) && high > low {
		p.low, p.high = low, high
	}
	for i := range 12 {
		value := p.low + float64(i)*step
		if value > p.high+step/1000 || math.IsInf(value, 0) {
			break
		}
		if math.Abs(value) < step/1000 {
			value = 0
		}
		p.Values = append(p.Values, plotMark{Y: p.y(value), Text: number(value)})
	}
	every := max(1, (p.trials+19)/20)
	for trial := 1; trial <= p.trials; trial += every {
		p.Trials = append(p.Trials, plotMark{X: p.x(trial), Text: fmt.Sprint(trial)})
	}
}

func (p *plot) x(trial int) float64 {
	if p.trials < 2 {
		return (plotLeft + plotRight) / 2
	}
	return plotLeft + float64(trial-1)/float64(p.trials-1)*(plotRight-plotLeft)
}

func (p *plot) y(value float64) float64 {
	share := (value/2 - p.low/2) / (p.high/2 - p.low/2)
	return plotBottom - share*(plotBottom-plotTop)
}

// draw sets a mark for each trial, named where it measures something else, and draws how
// good the best one was after each.
func (p *plot) draw(x *Experiment, name string, maximize bool) {
	var best *float64
	for _, e := range x.Executions {
		t := e.Trial
		mark := plotMark{X: p.x(t.Number), Y: plotBottom + 10, Shape: "buggy"}
		switch {
		case t.Buggy:
			p.Marks = append(p.Marks, mark)
			continue
		case t.Metric == nil:
			continue
		}
		mark.Y, mark.Shape, mark.Best = p.y(*t.Metric), t.Stage, x.Best != nil && e.ID == x.Best.ID
		if t.MetricName != name {
			mark.Text = readable(t.MetricName)
		}
		p.Marks = append(p.Marks, mark)
		switch {
		case best == nil:
			p.BestSoFar, best = fmt.Sprintf("M%.1f %.1f", mark.X, mark.Y), t.Metric
		case maximize && *t.Metric > *best, !maximize && *t.Metric < *best:
			p.BestSoFar, best = p.BestSoFar+fmt.Sprintf("H%.1fV%.1f", mark.X, mark.Y), t.Metric
		}
	}
	if best != nil {
		p.BestSoFar += fmt.Sprintf("H%.1f", p.x(p.trials))
	}
}

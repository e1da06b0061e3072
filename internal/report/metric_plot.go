package report

import (
	"fmt"
	"html"
	"math"
	"strings"

	"understudy/sessions"
)

// The plot's size and edges, in pixels.
const (
	plotWidth, plotHeight                    = 800, 340
	plotLeft, plotRight, plotTop, plotBottom = 70, 20, 40, 58
)

// plot draws the metric over the trials.
type plot struct {
	strings.Builder
	low, high float64
	trials    int
}

// metricPlot is the file metric.svg, nil where nothing was measured: a mark for each
// trial, by its stage, a cross below for a buggy one, and a line of the best so far.
func metricPlot(x *Experiment) []byte {
	name, maximize := x.metric()
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
		return nil
	}
	step := p.widen()
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight, plotWidth, plotHeight)
	fmt.Fprintf(p, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", plotWidth, plotHeight)
	p.text(plotLeft, 22, "start", plotTitle(x))
	p.axes(step)
	p.bestLine(x, maximize)
	for _, e := range x.Executions {
		if t := e.Trial; t != nil && t.Buggy {
			p.cross(p.x(t.Number), plotHeight-plotBottom)
		} else if t != nil && t.Metric != nil {
			p.mark(t.Stage, p.x(t.Number), p.y(*t.Metric))
			if t.MetricName != name {
				p.text(p.x(t.Number), p.y(*t.Metric)-10, "middle", t.MetricName)
			}
		}
	}
	if x.Best != nil {
		fmt.Fprintf(p, `<circle cx="%.1f" cy="%.1f" r="9" fill="none" stroke="#c99700" stroke-width="2.5"/>`+"\n", p.x(x.Best.Trial.Number), p.y(*x.Best.Trial.Metric))
	}
	p.legend()
	p.WriteString("</svg>\n")
	return []byte(p.String())
}

// plotTitle names what is drawn.
func plotTitle(x *Experiment) string {
	name, maximize := x.metric()
	if others := x.otherMetrics(); len(others) > 0 {
		name += " (some: " + strings.Join(others, ", ") + ")"
	}
	return fmt.Sprintf("%s by trial, %s is better", name, direction(maximize))
}

// widen takes the scale to round numbers, and returns the step between its lines.
func (p *plot) widen() float64 {
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
	for _, times := range []float64{1, 2, 5} {
		if raw <= times*power {
			step = times * power
			break
		}
	}
	if low, high := math.Floor(p.low/step)*step, math.Ceil(p.high/step)*step; !math.IsInf(high-low, 0) && high > low {
		p.low, p.high = low, high
	}
	return step
}

func (p *plot) x(trial int) float64 {
	if p.trials < 2 {
		return (plotLeft + plotWidth - plotRight) / 2
	}
	return plotLeft + 14 + float64(trial-1)/float64(p.trials-1)*(plotWidth-plotLeft-plotRight-28)
}

func (p *plot) y(value float64) float64 {
	share := (value/2 - p.low/2) / (p.high/2 - p.low/2)
	return plotHeight - plotBottom - 10 - share*(plotHeight-plotTop-plotBottom-20)
}

func (p *plot) text(x, y float64, anchor, text string) {
	fmt.Fprintf(p, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="#444444">%s</text>`+"\n", x, y, anchor, html.EscapeString(readable(text)))
}

func (p *plot) axes(step float64) {
	for i := range 12 {
		value := p.low + float64(i)*step
		if value > p.high+step/1000 || math.IsInf(value, 0) {
			break
		}
		fmt.Fprintf(p, `<path d="M%d %.1fH%d" stroke="#e4e4e4"/>`+"\n", plotLeft, p.y(value), plotWidth-plotRight)
		if math.Abs(value) < step/1000 {
			value = 0
		}
		p.text(plotLeft-8, p.y(value)+4, "end", number(value))
	}
	fmt.Fprintf(p, `<path d="M%d %dV%dH%d" fill="none" stroke="#999999"/>`+"\n", plotLeft, plotTop, plotHeight-plotBottom, plotWidth-plotRight)
	every := max(1, int(math.Ceil(float64(p.trials)/20)))
	for trial := 1; trial <= p.trials; trial += every {
		p.text(p.x(trial), plotHeight-plotBottom+18, "middle", fmt.Sprint(trial))
	}
}

// bestLine draws how good the best trial was after each.
func (p *plot) bestLine(x *Experiment, maximize bool) {
	var path strings.Builder
	var best float64
	for _, e := range x.Executions {
		t := e.Trial
		if t == nil || t.Buggy || t.Metric == nil {
			continue
		}
		switch value := *t.Metric; {
		case path.Len() == 0:
			fmt.Fprintf(&path, "M%.1f %.1f", p.x(t.Number), p.y(value))
			best = value
		case maximize && value > best, !maximize && value < best:
			fmt.Fprintf(&path, "H%.1fV%.1f", p.x(t.Number), p.y(value))
			best = value
		}
	}
	if path.Len() > 0 {
		fmt.Fprintf(p, `<path d="%sH%.1f" fill="none" stroke="#c99700" stroke-width="2"/>`+"\n", path.String(), p.x(p.trials))
	}
}

// mark draws a trial: a circle for a draft, a diamond for debug, a square for improve.
func (p *plot) mark(stage string, x, y float64) {
	switch stage {
	case sessions.StageImprove:
		fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="9" height="9" rx="2" fill="#2b8a74"/>`+"\n", x-4.5, y-4.5)
	case sessions.StageDebug:
		fmt.Fprintf(p, `<path d="M%.1f %.1fl6 6l-6 6l-6 -6z" fill="#b07a1e"/>`+"\n", x, y-6)
	default:
		fmt.Fprintf(p, `<circle cx="%.1f" cy="%.1f" r="5" fill="#5b7fb4"/>`+"\n", x, y)
	}
}

func (p *plot) cross(x, y float64) {
	fmt.Fprintf(p, `<path d="M%.1f %.1fl8 8m0 -8l-8 8" stroke="#b8433a" stroke-width="2"/>`+"\n", x-4, y-4)
}

func (p *plot) legend() {
	const y = plotHeight - 12
	for i, stage := range []string{sessions.StageDraft, sessions.StageDebug, sessions.StageImprove} {
		p.mark(stage, plotLeft+8+float64(i)*90, y-4)
		p.text(plotLeft+20+float64(i)*90, y, "start", stage)
	}
	p.cross(plotLeft+278, y-4)
	p.text(plotLeft+290, y, "start", "buggy")
	fmt.Fprintf(p, `<path d="M%d %dh22" stroke="#c99700" stroke-width="2"/>`+"\n", plotLeft+350, y-4)
	p.text(plotLeft+380, y, "start", "best so far")
}

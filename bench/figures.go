package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
)

//go:embed figures_setup.py
var figuresSetup string

// wantedFigureCost is how much longer a shown figure may take than a saved one.
const wantedFigureCost = 1.10

// measureFigures measures what showing a figure costs, against saving it.
func measureFigures(ctx context.Context, b *bench) (err error) {
	s, err := startWarmServer(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err := s.run(figuresSetup); err != nil {
		return err
	}
	for _, f := range []figureKind{{"lines", "two lines and a legend"}, {"scatter", "10,000 points"}} {
		if err := f.measure(b, s); err != nil {
			return err
		}
	}
	return nil
}

// figureKind is a function of the set-up that makes a figure.
type figureKind struct{ function, name string }

// figureCalls are the calls of one kind of figure that show and save in turns:
// each call has a time that Python measured and one that the client did.
type figureCalls struct {
	server *server
	wholes map[string]values // the client's, by function
}

func (f figureKind) measure(b *bench, s *server) error {
	calls := figureCalls{s, map[string]values{}}
	inside := func(function string) contender {
		return contender{function, func() (float64, error) { return calls.call(function, f.function) }}
	}
	all, err := rounds(2*b.rounds, []contender{inside("timed_savefig"), inside("timed_show")})
	if err != nil {
		return err
	}
	save, show := all[0], all[1]
	wholeSave, wholeShow := calls.wholes["timed_savefig"][1:], calls.wholes["timed_show"][1:] // without the first round
	b.report.add(table{
		title: "A figure: " + f.name,
		note: "A new figure each time, of matplotlib's default size. \"Inside Python\" is `plt.show()` or `fig.savefig(file)` alone; " +
			"\"the whole call\" is what the client waits for: making the figure as well and, where it is shown, the image on its way.",
		unit: seconds,
		rows: []row{
			{name: "`savefig`, inside Python", values: save},
			{"`show`, inside Python", show, save, "`savefig`"},
			{name: "`savefig`, the whole call", values: wholeSave},
			{"`show`, the whole call", wholeShow, wholeSave, "`savefig`"},
		},
	})
	b.report.aim(figureTarget("a figure of "+f.name+", `show` against `savefig`, inside Python", save, show))
	b.report.aim(figureTarget("the same, the whole calls", wholeSave, wholeShow))
	return nil
}

// figureTarget compares round by round: both have just met the same machine.
func figureTarget(what string, save, show values) target {
	return atMost(what, ratios(show, save).median(), wantedFigureCost)
}

// call runs a timing function and returns the seconds that it measured.
func (c *figureCalls) call(function, figure string) (float64, error) {
	r, err := c.server.call("run_python_code", map[string]any{
		"code": fmt.Sprintf("took = %s(%s)", function, figure), "result_var_name": "took",
	})
	if err != nil {
		return 0, err
	}
	images := 0
	for _, content := range r.Content {
		if content.Type == "image" {
			images++
		}
	}
	if want := map[string]int{"timed_show": 1, "timed_savefig": 0}[function]; images != want {
		return 0, fmt.Errorf("%d images came, not %d", images, want)
	}
	c.wholes[function] = append(c.wholes[function], r.seconds)
	var took float64
	return took, json.Unmarshal(r.Record.Result, &took)
}

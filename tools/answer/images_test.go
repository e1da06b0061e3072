package answer

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// photo is a smooth picture with the noise of a camera, which PNG hardly
// compresses.
func photo(t *testing.T, width, height int) []byte {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = byte(i/width/16) + byte(random.Uint32N(16))
	}
	return pngOf(t, img)
}

// plot draws eight curves on white, with soft edges as a plotting library does.
func plot(t *testing.T, width, height int) []byte {
	t.Helper()
	width, height = 2*width, 2*height
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.Draw(img, img.Bounds(), image.White, image.Point{}, draw.Src)
	for curve := range 8 {
		c := color.NRGBA{byte(curve * 30), byte(250 - curve*30), byte(curve * 37), 255}
		for x := range width {
			y := float64(height) / 2 * (1 + math.Sin(float64(curve+1)*float64(x)/float64(width)*3))
			img.Set(x, int(y), c)
			img.Set(x, int(y)+1, c)
			img.Set(x, int(y)+2, c)
		}
	}
	return pngOf(t, resize(img, 0.5))
}

func pngOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var buffer bytes.Buffer
	must(t, png.Encode(&buffer, img))
	return buffer.Bytes()
}

func figuresOf(previews ...[]byte) []sessions.Figure {
	figures := make([]sessions.Figure, len(previews))
	for i, preview := range previews {
		figures[i] = sessions.Figure{Path: fmt.Sprintf("/data/%d.png", i+1), MIMEType: "image/png", Width: 100, Height: 100, Title: fmt.Sprintf("Figure <%d>", i+1), Preview: preview}
	}
	return figures
}

// inFull says that the previews are the figures' files themselves.
func inFull(figures []sessions.Figure) []sessions.Figure {
	for i, figure := range figures {
		if config, err := png.DecodeConfig(bytes.NewReader(figure.Preview)); err == nil {
			figures[i].Width, figures[i].Height = config.Width, config.Height
		}
	}
	return figures
}

func box(o Options) *Renderer {
	o.Client, o.Logger = func(context.Context) sessions.Client { return "client" }, slog.New(slog.DiscardHandler)
	return New(o)
}

func TestPictures(t *testing.T) {
	t.Parallel()
	small, large, noise := plot(t, 100, 80), plot(t, 800, 600), photo(t, 300, 240)
	for name, test := range map[string]struct {
		previews [][]byte
		room     int
		want     string // of each picture: same, png, jpeg, or why it is missing
	}{
		"fits":             {[][]byte{small}, 100_000, "same"},
		"none":             {nil, 100_000, ""},
		"plot shrinks":     {[][]byte{large}, len(large), "png"},
		"photo shrinks":    {[][]byte{noise}, 100_000, "jpeg"},
		"small one stays":  {[][]byte{noise, small, large}, (len(noise) + len(large)), "jpeg same png"},
		"no room":          {[][]byte{small, noise}, 0, "missing missing"},
		"below nothing":    {[][]byte{small}, -1 << 40, "missing"},
		"last one left":    {[][]byte{noise, noise, noise}, 45_000, "jpeg jpeg missing"},
		"not a PNG":        {[][]byte{[]byte("GIF89a"), small}, 100_000, "missing same"},
		"broken PNG":       {[][]byte{noise[:len(noise)/2]}, 10_000, "missing"},
		"no preview":       {[][]byte{nil, small}, 100_000, "missing same"},
		"hundreds of them": {repeat(small, 200), 300_000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pictures := box(Options{}).pictures(usualSide, figuresOf(test.previews...), test.room, 1)
			var kinds []string
			used := 0
			for i, p := range pictures {
				kinds = append(kinds, kindOf(p, test.previews[i]))
				if p.data != nil {
					used += Size(p.content(i, sessions.Figure{Title: strings.Repeat("<", 200)}))
				}
			}
			got := strings.Join(kinds, " ")
			expect(t, test.want == "" || got == test.want, "got %s, want %s", got, test.want)
			expect(t, used <= max(test.room, 0), "%d bytes for a room of %d", used, test.room)
		})
	}
}

func repeat(preview []byte, n int) (all [][]byte) {
	for range n {
		all = append(all, preview)
	}
	return all
}

// kindOf says in a word what became of a preview, having decoded it.
func kindOf(p picture, preview []byte) string {
	switch {
	case p.data == nil && p.missing != "":
		return "missing"
	case bytes.Equal(p.data, preview):
		return "same"
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(p.data))
	if err != nil || "image/"+format != p.mimeType || max(config.Width, config.Height) < leastSide/2 {
		return fmt.Sprintf("bad %s %v %v", p.mimeType, config, err)
	}
	return format
}

func TestPicturesKeepTheirShape(t *testing.T) {
	t.Parallel()
	wide := plot(t, 1500, 150)
	pictures := box(Options{}).pictures(500, figuresOf(wide), 900_000, 1)
	config, err := png.DecodeConfig(bytes.NewReader(pictures[0].data))
	expect(t, err == nil && config.Width == 500 && config.Height == 50, "%d×%d: %v (%s)", config.Width, config.Height, err, pictures[0].missing)
}

// TestTransparentIsWhite: JPEG has no transparency, and black axes on black
// would be lost.
func TestTransparentIsWhite(t *testing.T) {
	small := resize(image.NewNRGBA(image.Rect(0, 0, 10, 10)), 0.5)
	r, g, b, _ := small.At(2, 2).RGBA()
	expect(t, r+g+b == 3*0xffff, "transparent became %v", small.At(2, 2))
}

// TestAnswerStaysWithinBudget: text, record and pictures together.
func TestAnswerStaysWithinBudget(t *testing.T) {
	t.Parallel()
	noise, large, small := photo(t, 240, 200), plot(t, 600, 480), plot(t, 150, 100)
	const budget = 200_000
	results := map[string]*sessions.Result{
		"figures": example(func(r *sessions.Result) { r.Figures = figuresOf(noise, large, noise, small, noise) }),
		"both": example(func(r *sessions.Result) {
			r.Stdout, r.Stderr = strings.Repeat("\x00<é>", 20_000), strings.Repeat("😀", 20_000)
			r.TermOut = []string{r.Stdout, r.Stderr}
			r.Figures = figuresOf(noise, large, small)
		}),
		"many": example(func(r *sessions.Result) { r.Figures = figuresOf(append(repeat(noise, 5), repeat(small, 30)...)...) }),
	}
	for name, result := range results {
		for _, figures := range []string{FiguresContent, FiguresInline, FiguresNone} {
			t.Run(name+" "+figures, func(t *testing.T) {
				answer := box(Options{Figures: figures, TextBudget: 5000, ImageBudget: budget}).Answer(t.Context(), mcp.CallToolRequest{}, result, Call{})
				size := Size(answer)
				expect(t, size <= budget, "%d bytes", size)
				checkPictures(t, answer, result, figures)
			})
		}
	}
}

// checkPictures: each figure is either shown or said to be missing, and
// base64 is nowhere but where it belongs.
func checkPictures(t *testing.T, answer *mcp.CallToolResult, result *sessions.Result, figures string) {
	t.Helper()
	words := text(t, answer)
	shown, missing := len(answer.Content)-1, strings.Count(words, "; not shown: ")
	uris := strings.Count(string(answer.RawStructuredContent), "data:image/")
	expect(t, !strings.Contains(words, "base64"), "base64 in the text")
	switch {
	case figures == FiguresNone && (shown > 0 || missing > 0 || uris > 0):
		t.Errorf("%d shown, %d missing, %d URIs; want none", shown, missing, uris)
	case figures != FiguresNone && shown == 0:
		t.Error("no picture at all")
	case figures != FiguresNone && len(result.Figures) < 30 && shown+missing != len(result.Figures):
		t.Errorf("%d shown and %d missing of %d", shown, missing, len(result.Figures))
	case figures == FiguresInline && uris != shown, figures == FiguresContent && uris != 0:
		t.Errorf("%d URIs for %d pictures", uris, shown)
	}
}

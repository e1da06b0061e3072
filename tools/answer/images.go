package answer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"

	"golang.org/x/image/draw"

	"understudy/sessions"
)

const (
	// pictureFrame is what a picture needs in a message beside its base64:
	// names, braces, and a title of 120 characters that may be escaped.
	pictureFrame = 900
	// leastPicture is how many bytes of a message a figure can hardly do with less than.
	leastPicture = 20_000
	// leastSide is the longest side in pixels below which a figure says nothing.
	leastSide = 256
	// mostPixels bounds the memory that decoding a preview may take.
	mostPixels = 8 << 20
)

// picture is a figure as it is sent. Without data it is not, and missing says why.
type picture struct {
	data     []byte
	mimeType string
	missing  string
	scaled   bool // it is smaller than its file
}

// pictures fits the figures' previews into room bytes of the message, each
// travelling copies times and with sides of at most side pixels. When there are too many, the last are left out.
func (b *Renderer) pictures(side int, figures []sessions.Figure, room, copies int) []picture {
	fitted := make([]picture, len(figures))
	if copies == 0 {
		return fitted
	}
	needs := make([]int, len(figures))
	for i, figure := range figures {
		if i >= mostPictures {
			fitted[i].missing = tooMany
			continue
		}
		if len(figure.Preview) == 0 {
			fitted[i].missing = "no preview is held; the file has it"
			continue
		}
		needs[i] = pictureFrame + copies*base64.StdEncoding.EncodedLen(len(figure.Preview))
	}
	shares := dropLast(room, needs)
	for i, figure := range figures {
		if fitted[i].missing != "" {
			continue
		}
		most := (shares[i] - pictureFrame) / copies / 4 * 3
		fitted[i] = b.picture(figure.Preview, most, side)
		fitted[i].scaled = fitted[i].smallerThan(figure)
	}
	return fitted
}

// smallerThan reports whether the picture is not the figure's file itself.
func (p picture) smallerThan(f sessions.Figure) bool {
	config, _, err := image.DecodeConfig(bytes.NewReader(p.data))
	return err == nil && (config.Width != f.Width || config.Height != f.Height)
}

// dropLast shares the room, leaving out from the end as many as it takes for
// each of the others to get a share that it can use.
func dropLast(room int, needs []int) []int {
	needs = append([]int(nil), needs...)
	for n := len(needs); ; n-- {
		shares := share(room, needs...)
		if n == 0 || usable(shares, needs) {
			return shares
		}
		needs[n-1] = 0
	}
}

func usable(shares, needs []int) bool {
	for i := range shares {
		if shares[i] < needs[i] && shares[i] < leastPicture {
			return false
		}
	}
	return true
}

// picture returns the preview in at most most bytes and maxSide pixels, smaller
// if need be.
func (b *Renderer) picture(preview []byte, most, maxSide int) picture {
	config, format, err := image.DecodeConfig(bytes.NewReader(preview))
	if err != nil {
		return picture{missing: "its preview is neither PNG nor JPEG"}
	}
	side := max(config.Width, config.Height)
	if len(preview) <= most && side <= maxSide {
		return picture{data: preview, mimeType: "image/" + format}
	}
	if most <= 0 || config.Width*config.Height > mostPixels {
		return picture{missing: "too large for this answer"}
	}
	b.drawing.Lock()
	defer b.drawing.Unlock()
	smaller, err := shrink(preview, most, maxSide)
	if err != nil {
		return picture{missing: err.Error()}
	}
	return smaller
}

// shrink makes a picture of at most most bytes and maxSide pixels: a smaller
// PNG, or JPEG for what looks like a photograph or would become too small.
func shrink(preview []byte, most, maxSide int) (picture, error) {
	source, _, err := image.Decode(bytes.NewReader(preview))
	if err != nil {
		return picture{}, errors.New("its preview can't be read")
	}
	size := source.Bounds().Size()
	side := float64(max(size.X, size.Y))
	largest := min(1, float64(maxSide)/side)
	least := min(largest, leastSide/side)

	if photographic := len(preview) > size.X*size.Y/2; !photographic { // line plots take a tenth of that
		start := min(largest, 1.1*math.Sqrt(float64(most)/float64(len(preview))))
		if p, err := fit(source, encodePNG, most, start, max(least, 0.4*largest)); err == nil {
			return p, nil
		}
	}
	for _, encode := range []encoder{encodeJPEG(85), encodeJPEG(50)} {
		if p, err := fit(source, encode, most, largest, least); err == nil {
			return p, nil
		}
	}
	return picture{}, errors.New("too large for this answer")
}

// fit encodes the picture in at most most bytes, at the scale start or, in
// steps that the outcome of the last suggests, at one down to least.
func fit(source image.Image, encode encoder, most int, start, least float64) (picture, error) {
	for scale := start; scale >= least; {
		p, err := encode(resize(source, scale))
		if err != nil {
			return picture{}, fmt.Errorf("encoding a preview: %w", err)
		}
		if len(p.data) <= most {
			return p, nil
		}
		step := min(0.9, math.Sqrt(float64(most)/float64(len(p.data))))
		if scale > least && scale*step < least {
			scale = least
			continue
		}
		scale *= step
	}
	return picture{}, errors.New("no scale is small enough")
}

// resize returns the picture at the given scale, on white where it is transparent.
func resize(source image.Image, scale float64) image.Image {
	size := source.Bounds().Size()
	small := image.NewRGBA(image.Rect(0, 0, scaled(size.X, scale), scaled(size.Y, scale)))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.CatmullRom.Scale(small, small.Bounds(), source, source.Bounds(), draw.Over, nil)
	return small
}

func scaled(length int, scale float64) int {
	return max(1, int(math.Floor(float64(length)*scale)))
}

type encoder func(image.Image) (picture, error)

func encodePNG(source image.Image) (picture, error) {
	var buffer bytes.Buffer
	err := png.Encode(&buffer, source)
	return picture{data: buffer.Bytes(), mimeType: "image/png"}, err
}

func encodeJPEG(quality int) encoder {
	return func(source image.Image) (picture, error) {
		var buffer bytes.Buffer
		err := jpeg.Encode(&buffer, source, &jpeg.Options{Quality: quality})
		return picture{data: buffer.Bytes(), mimeType: "image/jpeg"}, err
	}
}

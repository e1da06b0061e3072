package answer

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"slices"

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

// pictures fits the figures' previews into room bytes of the message, each travelling copies
// times and with sides of at most side pixels. When there are too many, the last are left out.
func (b *Renderer) pictures(side int, figures []sessions.Figure, room, copies int) []picture {
	fitted := make([]picture, len(figures))
	if copies == 0 {
		return fitted
	}
	needs := make([]int, len(figures))
	for i, figure := range figures {
		switch {
		case i >= mostPictures:
			fitted[i].missing = tooMany
		case len(figure.Preview) == 0:
			fitted[i].missing = "no preview is held; the file has it"
		default:
			needs[i] = pictureFrame + copies*base64.StdEncoding.EncodedLen(len(figure.Preview))
		}
	}
	shares := dropLast(room, needs)
	for i, figure := range figures {
		if fitted[i].missing == "" {
			most := (shares[i] - pictureFrame) / copies / 4 * 3
			fitted[i] = b.picture(figure, most, side)
		}
	}
	return fitted
}

// dropLast shares the room, leaving out from the end as many as it takes for
// each of the others to get a share that it can use.
func dropLast(room int, needs []int) []int {
	needs = slices.Clone(needs)
	for n := len(needs); ; n-- {
		shares, usable := share(room, needs...), true
		for i := range shares {
			usable = usable && (shares[i] >= needs[i] || shares[i] >= leastPicture)
		}
		if n == 0 || usable {
			return shares
		}
		needs[n-1] = 0
	}
}

// picture returns the preview in at most most bytes and maxSide pixels, smaller
// if need be.
func (b *Renderer) picture(figure sessions.Figure, most, maxSide int) picture {
	preview := figure.Preview
	config, format, err := image.DecodeConfig(bytes.NewReader(preview))
	switch {
	case err != nil:
		return picture{missing: "its preview is neither PNG nor JPEG"}
	case len(preview) <= most && max(config.Width, config.Height) <= maxSide:
		isFile := config.Width == figure.Width && config.Height == figure.Height
		return picture{data: preview, mimeType: "image/" + format, scaled: !isFile}
	case most <= 0 || config.Width*config.Height > mostPixels:
		return picture{missing: "too large for this answer"}
	}
	b.drawing.Lock()
	defer b.drawing.Unlock()
	return shrink(preview, most, maxSide)
}

// shrink makes a picture of at most most bytes and maxSide pixels: a smaller
// PNG, or JPEG for what looks like a photograph or would become too small.
func shrink(preview []byte, most, maxSide int) picture {
	source, _, err := image.Decode(bytes.NewReader(preview))
	if err != nil {
		return picture{missing: "its preview can't be read"}
	}
	size := source.Bounds().Size()
	side := float64(max(size.X, size.Y))
	largest := min(1, float64(maxSide)/side)
	least := min(largest, leastSide/side)
	if len(preview) <= size.X*size.Y/2 { // line plots take a tenth of that, photographs more
		if data := fit(source, png.Encode, most, largest, max(least, 0.4*largest)); data != nil {
			return picture{data: data, mimeType: "image/png", scaled: true}
		}
	}
	if data := fit(source, encodeJPEG, most, largest, least); data != nil {
		return picture{data: data, mimeType: "image/jpeg", scaled: true}
	}
	return picture{missing: "too large for this answer"}
}

// fit encodes the picture in at most most bytes, at the scale largest or, in steps that the
// outcome of the last suggests, at one down to least; nil if none is small enough.
func fit(source image.Image, encode func(io.Writer, image.Image) error, most int, largest, least float64) []byte {
	for scale := largest; ; {
		var buffer bytes.Buffer
		if encode(&buffer, resize(source, scale)) != nil {
			return nil
		}
		if buffer.Len() <= most {
			return buffer.Bytes()
		}
		if scale <= least {
			return nil
		}
		scale = max(least, scale*min(0.9, math.Sqrt(float64(most)/float64(buffer.Len()))))
	}
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

func encodeJPEG(w io.Writer, source image.Image) error {
	return jpeg.Encode(w, source, &jpeg.Options{Quality: 75})
}

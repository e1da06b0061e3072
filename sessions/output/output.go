// Package output takes what an execution prints and shows while it runs, in bounded memory,
// and hands it out: each piece once to whoever asks for the answer (Transcript.Take), all of it
// to who records the execution (Recorded, Printed), and any lines of it to who reads it later
// (Read). The head and the tail of a text are in memory (buffer), the whole of a long one in a
// file (spool). ReadPage reads lines of any other file in the same way.
package output

// Stream is where a piece of output came from.
type Stream int

// The two streams of a process.
const (
	Stdout Stream = iota
	Stderr
)

func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// Piece is output of one stream.
type Piece struct {
	Stream Stream
	Text   []byte
}

// Figure is one matplotlib figure that an execution showed.
type Figure struct {
	// Path is the absolute path of the file in full resolution.
	Path     string `json:"path"`
	URI      string `json:"uri,omitempty"`
	MIMEType string `json:"mime_type"`
	// Width and Height are those of the file, in pixels.
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Title  string `json:"title,omitempty"`
	// Names are those of the files that the code itself has saved the figure in.
	Names []string `json:"saved_as,omitempty"`
	// Preview is a PNG small enough for a model: the file itself when that
	// fits the limit on the longest side, else a smaller rendering.
	Preview []byte `json:"-"`
	// DisplayID is what a later figure of the same execution has that replaces this one.
	DisplayID string `json:"-"`
}

// Artifact is a file that an execution has kept for its reader: a chart, an
// image, a table, a page.
type Artifact struct {
	// Name is unique in its session.
	Name string `json:"name"`
	Kind string `json:"kind" jsonschema:"enum=chart,enum=image,enum=df,enum=file,enum=txt,enum=svg,enum=html"`
	// Path is the absolute path of the file.
	Path     string `json:"path"`
	URI      string `json:"uri,omitempty"`
	MIMEType string `json:"mime_type"`
	Size     int64  `json:"size"` // bytes
	// Preview says in some lines what is in it, as the head of a table.
	Preview string `json:"preview,omitempty"`
	// Image is a PNG or JPEG small enough for a model, nil where there is none.
	Image []byte `json:"-"`
	// Replaced is how many of its name the same execution has kept before it.
	Replaced int `json:"-"`
}

// Cleared says which figures and artifacts of an execution are not shown any more:
// all figures so far, or none, and artifacts by name. Their files stay.
type Cleared struct {
	Figures   bool
	Artifacts []string
}

// Printed is the whole of a stream, as it was printed, UTF-8 or not: a text where it
// is short, else a file, whole when Record gets it and not written any more. The file
// lives as long as the session remembers the execution: who wants to keep it links or
// copies it before Record returns.
type Printed struct {
	Text []byte
	Path string
	Size int64 // bytes that were kept, in Text or in the file
	Lost int64 // bytes that were not
}

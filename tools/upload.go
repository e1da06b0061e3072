package tools

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/dustin/go-humanize"

	"understudy/sessions"
	"understudy/tools/resources/uri"
)

// upload puts a file into the working directory: MCP has no other way in.
func (b *toolbox) upload(ctx context.Context, c operationCall) (reply, error) {
	data, err := b.uploaded(c.ManageInterpretersArgs)
	if err != nil {
		return reply{}, err
	}
	u, err := b.manager.Upload(ctx, c.client, c.InterpreterID, c.Path, data)
	if err != nil {
		return reply{}, err
	}
	verb := "Uploaded"
	if u.Replaced {
		verb = "Replaced"
	}
	text := fmt.Sprintf("%s %s (%s) in the working directory of interpreter %s: %s", verb, u.Path, humanize.IBytes(uint64(u.Size)), u.InterpreterID, u.File)
	return reply{text, map[string]any{"interpreter_id": u.InterpreterID, "upload": u, "uri": uri.OfFile(u.InterpreterID, u.Path)}}, nil
}

// uploaded returns the file's bytes, however they came.
func (b *toolbox) uploaded(args ManageInterpretersArgs) ([]byte, error) {
	switch {
	case args.Path == "":
		return nil, sessions.Errorf(sessions.CodeInvalid, "path is required for upload operation: where the file is to be, relative to the working directory, as in data/a.csv")
	case args.Content == nil && args.ContentBase64 == nil, isGiven(args.Content) && isGiven(args.ContentBase64):
		return nil, sessions.Errorf(sessions.CodeInvalid, "give the file as content (text) or as content_base64 (other bytes), one of the two")
	case !isGiven(args.ContentBase64) && args.Content != nil:
		return []byte(*args.Content), b.checkUpload(len(*args.Content))
	}
	if err := b.checkUpload(base64.StdEncoding.DecodedLen(len(*args.ContentBase64)) - 2); err != nil { // 2 bytes of padding at most
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(*args.ContentBase64)
	if err != nil {
		return nil, sessions.Errorf(sessions.CodeInvalid, "argument \"content_base64\" is not base64 (the standard alphabet, padded): %w", err)
	}
	return data, b.checkUpload(len(data))
}

// isGiven reports whether an argument says something: "" stands beside another one
// where a model must fill in both.
func isGiven(text *string) bool { return text != nil && *text != "" }

func (b *toolbox) checkUpload(size int) error {
	if size <= b.MaxUpload {
		return nil
	}
	return sessions.Errorf(sessions.CodeLimit, "the file has %d bytes, and at most %d are taken at once (--max-upload); upload it in parts and join them with code", size, b.MaxUpload)
}

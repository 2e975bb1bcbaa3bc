package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"strconv"

	"github.com/google/uuid"

	"standin/api"
	"standin/client"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording"
	"standin/internal/recording/speech"
)

// outputFile is a file by its URI or with its content: the OutputFile schema of
// api/openapi.yaml.
type outputFile struct {
	URI  string `json:"uri"`
	Data string `json:"data"`
}

// file returns the file, which is at a path in the request.
func (f outputFile) file(path ...any) (speech.File, error) {
	if (f.URI == "") == (f.Data == "") {
		return speech.File{}, job.NewError(job.InvalidInput, "exactly one of uri and data is required", path...)
	}
	content, err := base64.StdEncoding.DecodeString(f.Data)
	if err != nil {
		return speech.File{}, job.NewError(job.InvalidInput, "data is not base64", append(path, "data")...)
	}
	return speech.File{URI: f.URI, Data: content, Path: path}, nil
}

// audioRequest is the PlayAudio schema of api/openapi.yaml.
type audioRequest struct {
	outputFile
	Interrupt bool `json:"interrupt"`
}

func (a *API) playAudio(r *apiRequest, in audioRequest) error {
	file, err := in.file()
	if err != nil {
		return err
	}
	return r.output(lifecycle.Output{
		Kind: ingest.PlayAudio, Args: ingest.SoundArgs{Interrupt: in.Interrupt},
		Make: func(ctx context.Context) ([]byte, error) {
			return a.Output.Sound(ctx, r.caller.ConsumerID, file)
		},
	})
}

func (a *API) speak(r *apiRequest, in client.SpokenText) error {
	say := speech.Text{Text: in.Text, Voice: in.Voice, Language: in.Language}
	return r.output(lifecycle.Output{
		Kind: ingest.Speak, Args: ingest.SoundArgs{Interrupt: in.Interrupt},
		Make: func(ctx context.Context) ([]byte, error) { return a.Output.Speak(ctx, r.caller.ConsumerID, say) },
	})
}

// pictureRequest is the Camera or ScreenShare schema of api/openapi.yaml.
type pictureRequest struct {
	Image *outputFile     `json:"image"`
	Video *outputFile     `json:"video"` // of a camera
	Page  *client.WebPage `json:"page"`
	None  bool            `json:"none"`
}

// showPicture serves an operation that shows a picture.
func (a *API) showPicture(kind ingest.CommandKind) func(*apiRequest, pictureRequest) error {
	return func(r *apiRequest, request pictureRequest) error {
		kinds := "image, video, page and none"
		if kind == ingest.ShareScreen {
			request.Video, kinds = nil, "image, page and none"
		}
		chosen := 0
		for _, set := range []bool{request.Image != nil, request.Video != nil, request.Page != nil, request.None} {
			if set {
				chosen++
			}
		}
		if chosen != 1 {
			return job.NewError(job.InvalidInput, "exactly one of "+kinds+" is required")
		}
		var file speech.File
		var err error
		output, team := lifecycle.Output{Kind: kind}, r.caller.ConsumerID
		switch {
		case request.Image != nil:
			output.Args = ingest.PictureArgs{Show: ingest.ShowImage}
			file, err = request.Image.file("image")
			output.Make = func(ctx context.Context) ([]byte, error) { return a.Output.Image(ctx, team, file) }
		case request.Video != nil:
			output.Args = ingest.PictureArgs{Show: ingest.ShowVideo}
			file, err = request.Video.file("video")
			output.Make = func(ctx context.Context) ([]byte, error) { return a.Output.Video(ctx, team, file) }
		case request.Page != nil:
			output.Args = ingest.PictureArgs{Show: ingest.ShowPage, URI: request.Page.URI}
			if !job.IsWebAddress(request.Page.URI) {
				err = job.NewError(job.InvalidInput, "it is not an http or https URL without credentials", "page", "uri")
			}
		default:
			output.Args = ingest.PictureArgs{Show: ingest.ShowNone}
		}
		if err != nil {
			return err
		}
		return r.output(output)
	}
}

// output queues output for the job's bot.
func (r *apiRequest) output(output lifecycle.Output) error {
	return r.queued(r.api.Jobs.Output(r.Context(), r.caller, r.id, output))
}

// readOutput serves what a command or the job itself plays or shows to the job's bot.
func (a *API) readOutput(r *apiRequest) error {
	name := r.PathValue("commandId")
	own := name == ingest.OnJoinOutput || name == ingest.CameraOutput
	var issues []api.Issue
	command, err := uuid.Parse(name)
	if err != nil && !own {
		issues = issue("format", "must be a UUID", "commandId")
	}
	bot, err := r.botInPath(issues)
	if err != nil {
		return err
	}
	team, options, err := a.Jobs.AdmitOutput(r.Context(), bot)
	if err != nil {
		return err
	}
	var content io.ReadCloser
	var size int64
	if own {
		var made []byte
		made, err = a.ownOutput(r.Context(), team, name, options)
		content, size = io.NopCloser(bytes.NewReader(made)), int64(len(made))
	} else {
		content, size, err = a.Recordings.OpenOutput(r.Context(), bot.JobID(), command)
	}
	if recording.IsNotFound(err) {
		return job.NewError(job.NotFound, "no such output")
	}
	if err != nil {
		return err
	}
	defer content.Close()
	r.Header().Set("Content-Type", "application/octet-stream")
	r.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	_, _ = io.Copy(&stallWriter{apiRequest: r}, content) // the bot notices that it is incomplete
	return nil
}

// ownOutput makes what a job's options play or show.
func (a *API) ownOutput(ctx context.Context, team uuid.UUID, name string, options *job.OutputOptions) ([]byte, error) {
	switch {
	case options == nil:
	case name == ingest.CameraOutput && options.Camera != nil && options.Camera.Image != nil:
		return a.Output.Image(ctx, team, speech.File{URI: options.Camera.Image.URI})
	case name == ingest.OnJoinOutput && options.OnJoin != nil && options.OnJoin.URI != "":
		return a.Output.Sound(ctx, team, speech.File{URI: options.OnJoin.URI})
	case name == ingest.OnJoinOutput && options.OnJoin != nil:
		say := options.OnJoin
		return a.Output.Speak(ctx, team, speech.Text{Text: say.Text, Voice: say.Voice, Language: say.Language})
	}
	return nil, job.NewError(job.NotFound, "no such output")
}

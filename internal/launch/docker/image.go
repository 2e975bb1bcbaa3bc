package docker

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"
)

// progress is how far the image's pull is.
type progress struct {
	mu      sync.Mutex
	pulling bool
	layers  map[string]layer
}

// layer is a part of an image, in bytes.
type layer struct{ done, total int64 }

func (p *progress) set(pulling bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pulling, p.layers = pulling, make(map[string]layer)
}

func (p *progress) note(id string, l layer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.layers[id] = l
}

func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.pulling {
		return "cannot be looked for: the Docker engine does not answer"
	}
	var sum layer
	for _, l := range p.layers {
		sum.done, sum.total = sum.done+l.done, sum.total+l.total
	}
	return fmt.Sprintf("is still being pulled, %d of %d MB so far", sum.done>>20, sum.total>>20)
}

// fetch sees to it that the engine has the image: ahead of the first bot, and
// whenever somebody asks. Whoever asks while it is being pulled gets the
// answer to that.
func (l *Launcher) fetch(ctx context.Context) {
	if err := l.haveImage(ctx); err != nil && ctx.Err() == nil {
		l.settings.Log.Error("no bot can be sent before this is mended", "error", err)
	}
	for {
		select {
		case asking := <-l.asked:
			err := l.haveImage(ctx)
			asking <- err
			l.answer(err)
		case <-ctx.Done():
			return
		}
	}
}

// answer tells everybody who asks at this moment.
func (l *Launcher) answer(err error) {
	for {
		select {
		case asking := <-l.asked:
			asking <- err
		default:
			return
		}
	}
}

// needImage makes sure that the engine has the image. It waits only so long: a
// launch that is told to come back makes room for others.
func (l *Launcher) needImage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.settings.PullWait)
	defer cancel()
	answered := make(chan error, 1)
	select {
	case l.asked <- answered:
	case <-ctx.Done():
		return fmt.Errorf("the bots' image %s %s", l.settings.Image, &l.progress)
	}
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the bots' image %s %s", l.settings.Image, &l.progress)
	}
}

// haveImage pulls the image, where the settings say that it is to be pulled.
func (l *Launcher) haveImage(ctx context.Context) error {
	switch l.settings.Pull {
	case PullNever:
		return nil // the engine says it when it has none
	case PullMissing:
		looking, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		_, err := l.engine.ImageInspect(looking, l.settings.Image)
		if err == nil {
			return nil
		}
		if !errdefs.IsNotFound(err) {
			return away("look for the bots' image", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, pullTime)
	defer cancel()
	l.progress.set(true)
	defer l.progress.set(false)
	return l.pull(ctx)
}

// pull pulls the image. An engine tells of most errors after it has answered
// that all is well.
func (l *Launcher) pull(ctx context.Context) error {
	doing := "pull the bots' image " + l.settings.Image
	auth, err := l.auth()
	if err != nil {
		return err
	}
	pulling, err := l.engine.ImagePull(ctx, l.settings.Image, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return away(doing, err)
	}
	defer pulling.Close()
	for message, err := range pulling.JSONMessages(ctx) {
		switch {
		case err != nil:
			return away(doing, err)
		case message.Error != nil:
			return away(doing, message.Error)
		case message.Progress != nil && message.Progress.Total > 0:
			l.progress.note(message.ID, layer{message.Progress.Current, message.Progress.Total})
		}
	}
	l.settings.Log.Info("pulled the bots' image", "image", l.settings.Image)
	return nil
}

// auth is the header by which the engine signs in to the registry.
func (l *Launcher) auth() (string, error) {
	if l.settings.Registry == (Registry{}) {
		return "", nil
	}
	named, err := reference.ParseNormalizedNamed(l.settings.Image)
	if err != nil {
		return "", fmt.Errorf("the bots' image: %w", err)
	}
	encoded, err := authconfig.Encode(registry.AuthConfig{
		Username: l.settings.Registry.User, Password: l.settings.Registry.Password, ServerAddress: reference.Domain(named),
	})
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", http.CanonicalHeaderKey(registry.AuthHeader), err)
	}
	return encoded, nil
}

package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"standin/internal/launch"
)

// notPulling is Launcher.progress while the image is not being pulled.
const notPulling = "cannot be checked: the Docker engine does not answer"

// ensureImage waits at most PullWait until the engine has the image. The
// dispatcher tries a launch again that timed out, and launches other jobs
// meanwhile.
func (l *Launcher) ensureImage(ctx context.Context) error {
	timeout := time.NewTimer(l.PullWait)
	defer timeout.Stop()
	reply := make(chan error, 1)
	requests := l.imageRequests // nil after the request
	for {
		select {
		case requests <- reply:
			requests = nil
		case err := <-reply:
			return err
		case <-timeout.C:
			return fmt.Errorf("the bots' image %s %s", l.Image, l.progress.Load())
		case <-ctx.Done():
			return fmt.Errorf("wait for the bots' image %s: %w", l.Image, ctx.Err())
		}
	}
}

// serveImage pulls the image before the first launch and on every request.
// Requests that arrive during a pull share its result.
func (l *Launcher) serveImage(ctx context.Context) {
	if err := l.fetchImage(ctx); err != nil && ctx.Err() == nil {
		l.Log.Error("bots cannot be launched", "error", err)
	}
	for {
		select {
		case reply := <-l.imageRequests:
			err := l.fetchImage(ctx)
			for waiting := true; waiting; {
				reply <- err
				select {
				case reply = <-l.imageRequests:
				default:
					waiting = false
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// fetchImage pulls the image if the settings require it.
func (l *Launcher) fetchImage(ctx context.Context) error {
	switch l.Pull {
	case launch.PullNever:
		return nil // without the image, creating the container fails
	case launch.PullMissing:
		inspectCtx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
		defer cancel()
		_, err := l.client.ImageInspect(inspectCtx, l.Image)
		if err == nil {
			return nil
		}
		if !errdefs.IsNotFound(err) {
			return engineError("inspect the bots' image", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	layers := make(map[string]jsonstream.Progress)
	showProgress := func() {
		var done, total int64
		for _, layer := range layers {
			done, total = done+layer.Current, total+layer.Total
		}
		l.progress.Store(fmt.Sprintf("is still being pulled, %d of %d MB so far", done>>20, total>>20))
	}
	showProgress()
	defer l.progress.Store(notPulling)
	action := "pull the bots' image " + l.Image
	auth := "" // the header with the registry's credentials
	if l.Registry != (Registry{}) {
		named, err := reference.ParseNormalizedNamed(l.Image)
		if err != nil {
			return fmt.Errorf("parse the name of the bots' image: %w", err)
		}
		auth, err = authconfig.Encode(registry.AuthConfig{
			Username: l.Registry.User, Password: l.Registry.Password, ServerAddress: reference.Domain(named),
		})
		if err != nil {
			return fmt.Errorf("encode the registry's credentials: %w", err)
		}
	}
	stream, err := l.client.ImagePull(ctx, l.Image, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return engineError(action, err)
	}
	defer stream.Close()
	// Engines report most errors in the progress stream, after a successful status code.
	for message, err := range stream.JSONMessages(ctx) {
		switch {
		case err != nil:
			return engineError(action, err)
		case message.Error != nil:
			return engineError(action, message.Error)
		case message.Progress != nil && message.Progress.Total > 0:
			layers[message.ID] = *message.Progress
			showProgress()
		}
	}
	l.Log.Info("pulled the bots' image", "image", l.Image)
	return nil
}

package kubernetes

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"standin/internal/launch"
)

// Follow implements launch.Engine. It ends after Resync at the latest, because a
// broken connection cannot be told from one without events.
func (e engine) Follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.Resync+launch.CallTimeout)
	defer cancel()
	from, err := e.list(ctx)
	if err != nil {
		return err
	}
	err = e.watch(ctx, from)
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil // list again
	}
	if err != nil {
		return clusterError("watch the bots' pods", err)
	}
	return nil
}

// list updates the tracker with all pods of this instance, and returns the version
// from which a watch continues.
func (l *Launcher) list(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	version := l.Version()
	pods, err := l.pods().List(ctx, metav1.ListOptions{LabelSelector: l.instanceLabels()})
	if err != nil {
		return "", clusterError("list the bots' pods", err)
	}
	all := make(map[launch.Key]launch.BotStatus)
	for i := range pods.Items {
		pod := &pods.Items[i]
		if key, ours := l.ParseLabels(pod.Labels); ours && isGated(pod) {
			all[key] = launch.BotStatus{State: launch.NotStarted}
		} else if ours {
			all[key] = podStatus(pod)
		}
	}
	l.Listed(all, version)
	return pods.ResourceVersion, nil
}

// instanceLabels selects all pods of this instance.
func (l *Launcher) instanceLabels() string { return launch.LabelInstance + "=" + l.Instance }

// watch updates the tracker with changes until the watch times out or is
// disconnected, which is no error.
func (l *Launcher) watch(ctx context.Context, from string) error {
	pods, err := l.pods().Watch(ctx, metav1.ListOptions{
		LabelSelector: l.instanceLabels(), AllowWatchBookmarks: true,
		TimeoutSeconds: new(int64(l.Resync / time.Second)), ResourceVersion: from,
	})
	if err != nil {
		return err
	}
	defer pods.Stop()
	for event := range pods.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type == watch.Bookmark || isGated(pod) {
			continue
		}
		key, ours := l.ParseLabels(pod.Labels)
		if !ours {
			continue
		}
		status := podStatus(pod)
		if event.Type == watch.Deleted && status.State != launch.Gone {
			status = gone(cmp.Or(disruption(pod), "its pod was deleted, and not by Standin"))
		}
		l.Update(key, status)
	}
	return nil
}

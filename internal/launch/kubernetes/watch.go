package kubernetes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"standin/internal/launch"
)

// errExpired is the error of a watch whose resource version the cluster no
// longer has. A new list is needed.
var errExpired = errors.New("the resource version of the watch has expired")

// snapshot is the watcher's copy of the Jobs and pods of this instance.
type snapshot struct {
	jobs map[launch.Key]*batchv1.Job
	pods map[launch.Key]map[string]corev1.Pod // by name
}

// status returns the status of a bot.
func (s snapshot) status(key launch.Key) launch.BotStatus {
	return botStatus(s.jobs[key], slices.Collect(maps.Values(s.pods[key])))
}

// putPod adds or replaces a pod.
func (s snapshot) putPod(key launch.Key, pod corev1.Pod) {
	if s.pods[key] == nil {
		s.pods[key] = make(map[string]corev1.Pod)
	}
	s.pods[key][pod.Name] = pod
}

// Follow implements launch.Engine. It ends after Resync at the latest, because a
// broken connection cannot be told from one without events.
func (e engine) Follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.settings.Resync+launch.CallTimeout)
	defer cancel()
	err := e.follow(ctx)
	if errors.Is(err, errExpired) {
		return nil
	}
	return err
}

func (l *Launcher) follow(ctx context.Context) error {
	current, jobOptions, podOptions, err := l.list(ctx)
	if err != nil {
		return err
	}
	jobs, err := l.cluster.jobs.Watch(ctx, jobOptions)
	if err != nil {
		return watchError("watch the bots' Jobs", err)
	}
	defer jobs.Stop()
	pods, err := l.cluster.pods.Watch(ctx, podOptions)
	if err != nil {
		return watchError("watch the bots' pods", err)
	}
	defer pods.Stop()
	for {
		var event watch.Event
		var open bool
		select {
		case event, open = <-jobs.ResultChan():
		case event, open = <-pods.ResultChan():
		}
		if !open {
			return nil // timed out or disconnected: list again
		}
		if err := l.handleEvent(current, event); err != nil {
			return err
		}
	}
}

// watchError wraps an error of a watch.
func watchError(action string, err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return errExpired
	}
	return clusterError(action, err)
}

// list updates the tracker with all Jobs and pods of this instance. It returns
// them, and the options of the watches that continue from there.
func (l *Launcher) list(ctx context.Context) (current snapshot, jobOptions, podOptions metav1.ListOptions, err error) {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	current = snapshot{make(map[launch.Key]*batchv1.Job), make(map[launch.Key]map[string]corev1.Pod)}
	version := l.Version()
	options := withLabels(map[string]string{labelInstance: l.settings.Instance})
	pods, err := l.cluster.pods.List(ctx, options)
	if err != nil {
		return current, options, options, clusterError("list the bots' pods", err)
	}
	jobs, err := l.cluster.jobs.List(ctx, options)
	if err != nil {
		return current, options, options, clusterError("list the bots' Jobs", err)
	}
	for i := range jobs.Items {
		if key, ours := l.parseLabels(jobs.Items[i].Labels); ours {
			current.jobs[key] = &jobs.Items[i]
		}
	}
	for _, pod := range pods.Items {
		if key, ours := l.parseLabels(pod.Labels); ours {
			current.putPod(key, pod)
		}
	}
	all := make(map[launch.Key]launch.BotStatus)
	for key, job := range current.jobs {
		if !suspended(job) { // a suspended Job has not started
			all[key] = current.status(key)
		}
	}
	for key := range current.pods {
		if current.jobs[key] == nil { // the Job was deleted and the pod has not ended yet
			all[key] = current.status(key)
		}
	}
	l.Listed(all, slices.Collect(maps.Keys(current.jobs)), version)
	watchFrom := func(resourceVersion string) metav1.ListOptions {
		from := options
		from.ResourceVersion, from.AllowWatchBookmarks = resourceVersion, true
		from.TimeoutSeconds = new(int64(l.settings.Resync / time.Second))
		return from
	}
	return current, watchFrom(jobs.ResourceVersion), watchFrom(pods.ResourceVersion), nil
}

// handleEvent updates the snapshot and the tracker with an event.
func (l *Launcher) handleEvent(current snapshot, event watch.Event) error {
	switch event.Type {
	case watch.Error:
		return watchError("follow the cluster's events", apierrors.FromObject(event.Object))
	case watch.Bookmark:
		return nil
	}
	switch object := event.Object.(type) {
	case *batchv1.Job:
		if key, ours := l.parseLabels(object.Labels); ours {
			l.handleJob(current, key, object, event.Type == watch.Deleted)
		}
	case *corev1.Pod:
		if key, ours := l.parseLabels(object.Labels); ours {
			l.handlePod(current, key, object, event.Type == watch.Deleted)
		}
	}
	return nil
}

func (l *Launcher) handleJob(current snapshot, key launch.Key, job *batchv1.Job, deleted bool) {
	if deleted {
		delete(current.jobs, key)
		if len(current.pods[key]) == 0 && !suspended(job) { // otherwise the pod's end is still to come
			l.Update(key, launch.BotStatus{State: launch.Gone, Reason: "its Job was deleted, and not by Standin"})
		}
		return
	}
	current.jobs[key] = job
	if !suspended(job) {
		l.Update(key, current.status(key))
	}
}

func (l *Launcher) handlePod(current snapshot, key launch.Key, pod *corev1.Pod, deleted bool) {
	current.putPod(key, *pod)
	if deleted {
		delete(current.pods[key], pod.Name)
		if len(current.pods[key]) > 0 {
			return
		}
		delete(current.pods, key)
		l.Update(key, launch.BotStatus{State: launch.Gone, Reason: deletedReason(pod, current.jobs[key])})
		return
	}
	l.Update(key, current.status(key))
}

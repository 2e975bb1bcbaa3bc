package kubernetes

import (
	"context"
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

// snapshot is the watcher's copy of the Jobs and pods of this instance, and the
// resource versions from which watches continue.
type snapshot struct {
	jobs                     map[launch.Key]*batchv1.Job
	pods                     map[launch.Key]map[string]corev1.Pod // by name
	jobsVersion, podsVersion string
}

// status returns the status of a bot.
func (s *snapshot) status(key launch.Key) launch.BotStatus {
	return botStatus(s.jobs[key], slices.Collect(maps.Values(s.pods[key])))
}

// putPod adds or replaces a pod.
func (s *snapshot) putPod(key launch.Key, pod *corev1.Pod) {
	if s.pods[key] == nil {
		s.pods[key] = make(map[string]corev1.Pod)
	}
	s.pods[key][pod.Name] = *pod
}

// Follow implements launch.Engine. It ends after Resync at the latest, because a
// broken connection cannot be told from one without events.
func (e engine) Follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.Resync+launch.CallTimeout)
	defer cancel()
	current, err := e.list(ctx)
	if err != nil {
		return err
	}
	err = e.watch(ctx, current)
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil // list again
	}
	if err != nil {
		return clusterError("watch the bots' Jobs and pods", err)
	}
	return nil
}

// list updates the tracker with all Jobs and pods of this instance, and returns
// them.
func (l *Launcher) list(ctx context.Context) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	version := l.Version()
	ours := metav1.ListOptions{LabelSelector: l.instanceLabels()}
	pods, err := l.pods().List(ctx, ours)
	if err != nil {
		return nil, clusterError("list the bots' pods", err)
	}
	jobs, err := l.jobs().List(ctx, ours)
	if err != nil {
		return nil, clusterError("list the bots' Jobs", err)
	}
	current := &snapshot{
		jobs: make(map[launch.Key]*batchv1.Job), pods: make(map[launch.Key]map[string]corev1.Pod),
		jobsVersion: jobs.ResourceVersion, podsVersion: pods.ResourceVersion,
	}
	for i := range jobs.Items {
		if key, ours := l.ParseLabels(jobs.Items[i].Labels); ours {
			current.jobs[key] = &jobs.Items[i]
		}
	}
	for i := range pods.Items {
		if key, ours := l.ParseLabels(pods.Items[i].Labels); ours {
			current.putPod(key, &pods.Items[i])
		}
	}
	all := make(map[launch.Key]launch.BotStatus)
	for key, job := range current.jobs {
		if !isSuspended(job) { // a suspended Job has not started
			all[key] = current.status(key)
		}
	}
	for key := range current.pods {
		if current.jobs[key] == nil { // the Job was deleted and the pod has not ended yet
			all[key] = current.status(key)
		}
	}
	l.Listed(all, slices.Collect(maps.Keys(current.jobs)), version)
	return current, nil
}

// instanceLabels selects all Jobs and pods of this instance.
func (l *Launcher) instanceLabels() string { return launch.LabelInstance + "=" + l.Instance }

// watch updates the tracker with changes until one of its watches times out or is
// disconnected, which is no error.
func (l *Launcher) watch(ctx context.Context, current *snapshot) error {
	options := metav1.ListOptions{
		LabelSelector: l.instanceLabels(), AllowWatchBookmarks: true,
		TimeoutSeconds: new(int64(l.Resync / time.Second)), ResourceVersion: current.jobsVersion,
	}
	jobs, err := l.jobs().Watch(ctx, options)
	if err != nil {
		return err
	}
	defer jobs.Stop()
	options.ResourceVersion = current.podsVersion
	pods, err := l.pods().Watch(ctx, options)
	if err != nil {
		return err
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
			return nil
		}
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		object, ok := event.Object.(metav1.Object)
		if !ok || event.Type == watch.Bookmark {
			continue
		}
		key, ours := l.ParseLabels(object.GetLabels())
		if !ours {
			continue
		}
		deleted := event.Type == watch.Deleted
		switch changed := event.Object.(type) {
		case *batchv1.Job:
			current.jobs[key] = changed
			if deleted {
				delete(current.jobs, key)
			}
			switch {
			case isSuspended(changed):
			case !deleted:
				l.Update(key, current.status(key))
			case len(current.pods[key]) == 0: // otherwise the pod's end is still to come
				l.Update(key, gone("its Job was deleted, and not by Standin"))
			}
		case *corev1.Pod:
			current.putPod(key, changed)
			if !deleted {
				l.Update(key, current.status(key))
				continue
			}
			if delete(current.pods[key], changed.Name); len(current.pods[key]) > 0 {
				continue
			}
			delete(current.pods, key)
			reason, job := disruptionReason(changed), current.jobs[key]
			if status := podStatus(changed); status.State == launch.Gone {
				reason = status.Reason
			}
			if job != nil && botStatus(job, nil).State == launch.Gone {
				reason = botStatus(job, nil).Reason
			}
			l.Update(key, gone(reason))
		}
	}
}

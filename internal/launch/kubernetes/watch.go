package kubernetes

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"standin/internal/launch"
)

// errStale says that the cluster no longer tells what happened since it was
// asked what there is.
var errStale = errors.New("the cluster has forgotten what happened since it was asked")

// view is what the watcher saw of the cluster, by the bot that it belongs to.
type view struct {
	jobs map[launch.Key]*batchv1.Job
	pods map[launch.Key]map[string]corev1.Pod // by name
}

// podsOf are the pods of a bot.
func (v view) podsOf(key launch.Key) []corev1.Pod {
	pods := make([]corev1.Pod, 0, len(v.pods[key]))
	for _, pod := range v.pods[key] {
		pods = append(pods, pod)
	}
	return pods
}

// watch follows the cluster until ctx ends.
func (l *Launcher) watch(ctx context.Context) {
	l.watched.Watch(ctx, launch.Following{
		Engine: "the Kubernetes cluster", Now: l.settings.Now, Log: l.settings.Log,
		Follow: func(ctx context.Context) error {
			err := l.follow(ctx)
			if errors.Is(err, errStale) {
				return nil
			}
			return err
		},
	})
}

// follow takes in what there is, and then what happens, for as long as the
// resync says: a broken connection looks like one on which nothing happens.
func (l *Launcher) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.settings.Resync+callTime)
	defer cancel()
	seen, options, err := l.list(ctx)
	if err != nil {
		return err
	}
	jobs, err := l.cluster.jobs.Watch(ctx, options[0])
	if err != nil {
		return broken("watch the bots' Jobs", err)
	}
	defer jobs.Stop()
	pods, err := l.cluster.pods.Watch(ctx, options[1])
	if err != nil {
		return broken("watch the bots' pods", err)
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
			return nil // its time is up, or the connection was cut: what there is, is asked anew
		}
		if err := l.take(seen, event); err != nil {
			return err
		}
	}
}

// broken words an error of a watch.
func broken(doing string, err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return errStale
	}
	return away(doing, err)
}

// list takes in all that the cluster has of this instance. It returns what it
// saw, and the options of the watches that go on from there.
func (l *Launcher) list(ctx context.Context) (view, [2]metav1.ListOptions, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	seen := view{make(map[launch.Key]*batchv1.Job), make(map[launch.Key]map[string]corev1.Pod)}
	mark := l.watched.Version()
	options := selected(l.mine())
	pods, err := l.cluster.pods.List(ctx, options)
	if err != nil {
		return seen, [2]metav1.ListOptions{}, away("list the bots' pods", err)
	}
	jobs, err := l.cluster.jobs.List(ctx, options)
	if err != nil {
		return seen, [2]metav1.ListOptions{}, away("list the bots' Jobs", err)
	}
	var keys []launch.Key
	for i := range jobs.Items {
		if key, ours := l.keyOf(jobs.Items[i].Labels); ours {
			seen.jobs[key] = &jobs.Items[i]
			keys = append(keys, key)
		}
	}
	for _, pod := range pods.Items {
		l.put(seen, pod)
	}
	all := make(map[launch.Key]launch.BotStatus)
	for key, job := range seen.jobs {
		if !suspended(job) { // one that is does not start by itself
			all[key] = sightOf(job, seen.podsOf(key))
		}
	}
	for key := range seen.pods {
		if seen.jobs[key] == nil { // its Job was deleted, and it has yet to end
			all[key] = sightOf(nil, seen.podsOf(key))
		}
	}
	l.watched.UpdateAll(all, mark)
	select {
	case l.listed <- keys:
	default: // the reaper is busy with what was there before
	}
	ends := int64(l.settings.Resync / time.Second)
	watching := func(version string) metav1.ListOptions {
		from := options
		from.ResourceVersion, from.TimeoutSeconds, from.AllowWatchBookmarks = version, &ends, true
		return from
	}
	return seen, [2]metav1.ListOptions{watching(jobs.ResourceVersion), watching(pods.ResourceVersion)}, nil
}

// put adds a pod to what was seen.
func (l *Launcher) put(seen view, pod corev1.Pod) (launch.Key, bool) {
	key, ours := l.keyOf(pod.Labels)
	if !ours {
		return key, false
	}
	if seen.pods[key] == nil {
		seen.pods[key] = make(map[string]corev1.Pod)
	}
	seen.pods[key][pod.Name] = pod
	return key, true
}

// take takes in an event.
func (l *Launcher) take(seen view, event watch.Event) error {
	switch event.Type {
	case watch.Error:
		return broken("follow the cluster's events", apierrors.FromObject(event.Object))
	case watch.Bookmark:
		return nil
	}
	switch object := event.Object.(type) {
	case *batchv1.Job:
		l.takeJob(seen, event.Type, object)
	case *corev1.Pod:
		l.takePod(seen, event.Type, object)
	}
	return nil
}

func (l *Launcher) takeJob(seen view, happened watch.EventType, job *batchv1.Job) {
	key, ours := l.keyOf(job.Labels)
	if !ours {
		return
	}
	if happened == watch.Deleted {
		delete(seen.jobs, key)
		if len(seen.pods[key]) == 0 && !suspended(job) { // otherwise its pod tells when it has ended
			l.watched.Update(key, launch.BotStatus{State: launch.Gone, Reason: "its Job was deleted, and not by Standin"})
		}
		return
	}
	seen.jobs[key] = job
	if !suspended(job) {
		l.watched.Update(key, sightOf(job, seen.podsOf(key)))
	}
}

func (l *Launcher) takePod(seen view, happened watch.EventType, pod *corev1.Pod) {
	key, ours := l.put(seen, *pod)
	if !ours {
		return
	}
	if happened == watch.Deleted {
		delete(seen.pods[key], pod.Name)
		if len(seen.pods[key]) == 0 {
			delete(seen.pods, key)
			l.watched.Update(key, launch.BotStatus{State: launch.Gone, Reason: whyDeleted(pod, seen.jobs[key])})
		}
		return
	}
	l.watched.Update(key, sightOf(seen.jobs[key], seen.podsOf(key)))
}

// reapEvery is how often it is asked whether bots are wanted.
const reapEvery = 10 * time.Minute

// reap removes Jobs whose attempts are over: those of a database that was put
// back, of a job that was deleted, of a service that ended between its last
// two steps.
func (l *Launcher) reap(ctx context.Context) {
	var last time.Time
	for {
		select {
		case keys := <-l.listed:
			if l.settings.IsWanted == nil || l.settings.Now().Sub(last) < reapEvery {
				continue
			}
			last = l.settings.Now()
			for _, key := range keys {
				l.reapOne(ctx, key)
			}
		case <-ctx.Done():
			return
		}
	}
}

// reapOne removes an attempt's Job if the attempt is over.
func (l *Launcher) reapOne(ctx context.Context, key launch.Key) {
	log := l.settings.Log.With("job", key.JobID, "attempt", key.Attempt)
	wanted, err := l.settings.IsWanted(ctx, key.JobID, key.Attempt)
	if err == nil && !wanted {
		if err = l.end(ctx, key); err == nil {
			log.Info("removed the Job of an attempt that is over")
		}
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("cannot see to a Job that may be of an attempt that is over", "error", err)
	}
}

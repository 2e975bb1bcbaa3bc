package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"standin/internal/launch"
)

// errExpired is the error of a watch whose resource version the cluster no
// longer has. A new list is needed.
var errExpired = errors.New("the resource version of the watch has expired")

// errWatchEnded ends both watches when one of them has ended.
var errWatchEnded = errors.New("the watch has ended")

// snapshot is the watcher's copy of the Jobs and pods of this instance.
type snapshot struct {
	jobs map[launch.Key]*job
	pods map[launch.Key]map[string]pod // by name
}

// status returns the status of a bot.
func (s snapshot) status(key launch.Key) launch.BotStatus {
	return botStatus(s.jobs[key], slices.Collect(maps.Values(s.pods[key])))
}

// putPod adds or replaces a pod.
func (s snapshot) putPod(key launch.Key, added pod) {
	if s.pods[key] == nil {
		s.pods[key] = make(map[string]pod)
	}
	s.pods[key][added.Metadata.Name] = added
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
	current, jobsVersion, podsVersion, err := l.list(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards current
	watches, ctx := errgroup.WithContext(ctx)
	watches.Go(func() error {
		return l.watch(ctx, "jobs", jobsVersion, func(key launch.Key, event watchEvent) error {
			changed := new(job)
			if err := json.Unmarshal(event.Object, changed); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			l.handleJob(current, key, changed, event.Type == "DELETED")
			return nil
		})
	})
	watches.Go(func() error {
		return l.watch(ctx, "pods", podsVersion, func(key launch.Key, event watchEvent) error {
			changed := new(pod)
			if err := json.Unmarshal(event.Object, changed); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			l.handlePod(current, key, changed, event.Type == "DELETED")
			return nil
		})
	})
	if err := watches.Wait(); !errors.Is(err, errWatchEnded) {
		return err
	}
	return nil // list again
}

// watch reports the changes of this instance's objects of a resource since a
// version. It returns errWatchEnded when the watch has timed out or was
// disconnected.
func (l *Launcher) watch(ctx context.Context, resource, version string, report func(launch.Key, watchEvent) error) error {
	query := selector(map[string]string{labelInstance: l.settings.Instance})
	query.Set("resourceVersion", version)
	query.Set("allowWatchBookmarks", "true")
	query.Set("timeoutSeconds", strconv.Itoa(int(l.settings.Resync/time.Second)))
	err := l.cluster.watch(ctx, l.cluster.path(resource), query, func(event watchEvent) error {
		var changed struct {
			Metadata metadata `json:"metadata"`
		}
		if err := json.Unmarshal(event.Object, &changed); err != nil {
			return err
		}
		key, ours := l.parseLabels(changed.Metadata.Labels)
		if event.Type == "BOOKMARK" || !ours {
			return nil
		}
		return report(key, event)
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return errWatchEnded
	case isReason(err, "Expired", "Gone"):
		return errExpired
	}
	return clusterError("watch the bots' "+resource, err)
}

// selector returns the query that selects objects with the labels.
func selector(labels map[string]string) url.Values {
	var terms []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		terms = append(terms, name+"="+labels[name])
	}
	return url.Values{"labelSelector": {strings.Join(terms, ",")}}
}

// list updates the tracker with all Jobs and pods of this instance. It returns
// them, and the resource versions from which watches continue.
func (l *Launcher) list(ctx context.Context) (current snapshot, jobsVersion, podsVersion string, err error) {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	current = snapshot{make(map[launch.Key]*job), make(map[launch.Key]map[string]pod)}
	version := l.Version()
	instance := map[string]string{labelInstance: l.settings.Instance}
	pods, err := l.pods(ctx, instance)
	if err != nil {
		return current, "", "", clusterError("list the bots' pods", err)
	}
	var jobs list[job]
	if err := l.cluster.get(ctx, l.cluster.path("jobs")+"?"+selector(instance).Encode(), &jobs); err != nil {
		return current, "", "", clusterError("list the bots' Jobs", err)
	}
	for i := range jobs.Items {
		if key, ours := l.parseLabels(jobs.Items[i].Metadata.Labels); ours {
			current.jobs[key] = &jobs.Items[i]
		}
	}
	for _, pod := range pods.Items {
		if key, ours := l.parseLabels(pod.Metadata.Labels); ours {
			current.putPod(key, pod)
		}
	}
	all := make(map[launch.Key]launch.BotStatus)
	for key, job := range current.jobs {
		if !job.Spec.Suspend { // a suspended Job has not started
			all[key] = current.status(key)
		}
	}
	for key := range current.pods {
		if current.jobs[key] == nil { // the Job was deleted and the pod has not ended yet
			all[key] = current.status(key)
		}
	}
	l.Listed(all, slices.Collect(maps.Keys(current.jobs)), version)
	return current, jobs.Metadata.ResourceVersion, pods.Metadata.ResourceVersion, nil
}

func (l *Launcher) handleJob(current snapshot, key launch.Key, job *job, deleted bool) {
	if deleted {
		delete(current.jobs, key)
		if len(current.pods[key]) == 0 && !job.Spec.Suspend { // otherwise the pod's end is still to come
			l.Update(key, launch.BotStatus{State: launch.Gone, Reason: "its Job was deleted, and not by Standin"})
		}
		return
	}
	current.jobs[key] = job
	if !job.Spec.Suspend {
		l.Update(key, current.status(key))
	}
}

func (l *Launcher) handlePod(current snapshot, key launch.Key, pod *pod, deleted bool) {
	current.putPod(key, *pod)
	if deleted {
		delete(current.pods[key], pod.Metadata.Name)
		if len(current.pods[key]) > 0 {
			return
		}
		delete(current.pods, key)
		l.Update(key, launch.BotStatus{State: launch.Gone, Reason: deletedReason(pod, current.jobs[key])})
		return
	}
	l.Update(key, current.status(key))
}

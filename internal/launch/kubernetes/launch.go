package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/launch"
	"standin/internal/retry"
)

// Launch implements launch.Launcher. Afterwards the bot is Starting: the cluster
// may have to schedule its pod and pull its image. If the attempt already has a
// Job, that Job is used.
func (l *Launcher) Launch(ctx context.Context, a launch.Assignment) error {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	created := new(job)
	err := l.cluster.create(ctx, l.cluster.path("jobs"), l.newJob(a), created)
	if isReason(err, "AlreadyExists") {
		return l.adopt(ctx, a)
	}
	if err != nil {
		// If the cluster created the Job and its answer was lost, the Job is
		// suspended and the next launch adopts it.
		return clusterError("create the bot's Job", err)
	}
	return l.resume(ctx, created, a)
}

// adopt uses the Job that an attempt already has.
func (l *Launcher) adopt(ctx context.Context, a launch.Assignment) error {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	found := new(job)
	if err := l.cluster.get(ctx, l.cluster.path("jobs", l.settings.Name(key)), found); err != nil {
		return clusterError("get the attempt's earlier Job", err)
	}
	owner, ours := l.parseLabels(found.Metadata.Labels)
	switch {
	case !ours || owner != key:
		return fmt.Errorf("a Job that is not a bot of this service has the name %s; remove it", found.Metadata.Name)
	case found.Metadata.DeletionTimestamp != nil:
		return errors.New("the cluster is removing an earlier Job of this attempt")
	case found.Spec.Suspend:
		return l.resume(ctx, found, a)
	}
	pods, err := l.pods(ctx, l.labels(key))
	if err != nil {
		return clusterError("list the pods of the attempt's earlier Job", err)
	}
	l.Launching(key)
	l.Update(key, botStatus(found, pods.Items))
	return nil
}

// pods returns the pods with the labels.
func (l *Launcher) pods(ctx context.Context, labels map[string]string) (pods list[pod], err error) {
	err = l.cluster.get(ctx, l.cluster.path("pods")+"?"+selector(labels).Encode(), &pods)
	return pods, err
}

// resume creates the Secret of a suspended Job and resumes the Job. On error
// the Job is removed.
func (l *Launcher) resume(ctx context.Context, job *job, a launch.Assignment) error {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	l.Launching(key)
	config, err := launch.NewBotConfig(a, l.settings.Bot, spoolDir).Encode()
	if err != nil {
		return l.Discard(ctx, key, err)
	}
	err = l.cluster.create(ctx, l.cluster.path("secrets"), newSecret(job, config), nil)
	if err != nil && !isReason(err, "AlreadyExists") { // the name is unique to this Job
		return l.Discard(ctx, key, clusterError("create the Secret with the bot's configuration", err))
	}
	l.Update(key, launch.BotStatus{State: launch.Starting, Reason: noPod}) // before the watcher reports a later state
	err = l.cluster.patch(ctx, l.cluster.path("jobs", job.Metadata.Name), object{"spec": object{"suspend": false}})
	if err != nil {
		return l.Discard(ctx, key, clusterError("resume the bot's Job", err))
	}
	return nil
}

// engine implements launch.Engine.
type engine struct{ *Launcher }

// Remove implements launch.Engine. It deletes the Job first, so that no further
// pod is created, then its pods, and waits until none of them runs. The bot
// leaves its meeting, or is killed after LeaveTime.
func (e engine) Remove(ctx context.Context, key launch.Key) error {
	ctx, cancel := context.WithTimeout(ctx, e.settings.LeaveTime+launch.CallTimeout)
	defer cancel()
	err := e.cluster.delete(ctx, e.cluster.path("jobs", e.settings.Name(key)), object{"propagationPolicy": "Background"}) // also deletes the Job's Secret
	if err != nil && !isNotFound(err) {
		return clusterError("delete the bot's Job", err)
	}
	backoff := retry.Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for {
		pods, err := e.pods(ctx, e.labels(key))
		if err != nil {
			return clusterError("list the bot's pods", err)
		}
		running := 0
		for i := range pods.Items {
			if phase := pods.Items[i].Status.Phase; phase == podSucceeded || phase == podFailed {
				continue // deleted with the Job
			}
			running++
			if err := e.deletePod(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
		if running == 0 {
			return nil
		}
		if retry.Sleep(ctx, backoff.Next()) != nil {
			return fmt.Errorf("the bot's pod %s has not ended in time: its node %s does not report its end",
				pods.Items[0].Metadata.Name, pods.Items[0].Spec.NodeName)
		}
	}
}

// deletePod deletes a pod. When its node does not report the pod's end within
// LostAfter, the node is lost and the pod is deleted by force. A bot that still
// runs there is told to leave as soon as it reaches the service.
func (l *Launcher) deletePod(ctx context.Context, pod *pod) error {
	grace := int64(l.settings.LeaveTime / time.Second)
	if deleted := pod.Metadata.DeletionTimestamp; deleted != nil { // the end of its grace period
		if l.settings.Now().Sub(*deleted) < l.settings.LostAfter {
			return nil
		}
		l.settings.Log.Warn("deleting a bot's pod by force: its node does not report its end",
			"pod", pod.Metadata.Name, "node", pod.Spec.NodeName)
		grace = 0
	}
	err := l.cluster.delete(ctx, l.cluster.path("pods", pod.Metadata.Name), object{
		"gracePeriodSeconds": grace, "preconditions": object{"uid": pod.Metadata.UID},
	})
	if err != nil && !isNotFound(err) && !isReason(err, "Conflict") {
		return clusterError("delete the bot's pod", err)
	}
	return nil
}

package storage

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/budget"
	"standin/internal/recording"
)

// recountInterval is the minimum time between a count of a job's uploads and another one
// that might admit what the first refused.
const recountInterval = time.Second

// nodeShare is the part of what a job may still upload that one node admits without
// another count: one eighth. Together, up to eight nodes admit no more than the quota.
const nodeShare = 8

// maxTracked is the number of jobs above which old counts are dropped.
const maxTracked = 1000

// uploadCounts caches the number and size of each job's uploads, so that an
// upload does not list all earlier ones. Uploads through another node and
// replaced files make a count inaccurate, so the uploads are counted again before
// one is rejected, and after each use of the node's share.
type uploadCounts struct {
	counting *budget.Budget // by job: its uploads are counted once at a time
	mu       sync.Mutex
	jobs     map[uuid.UUID]*uploadCount
}

func newUploadCounts() uploadCounts {
	return uploadCounts{counting: budget.New(math.MaxInt64, 1, 0), jobs: make(map[uuid.UUID]*uploadCount)}
}

// uploadCount is the number and size of one job's uploads.
type uploadCount struct {
	counted          recording.UploadQuota // in the storage, by the last count
	stored, reserved recording.UploadQuota // stored as far as this node knows; reserved is for uploads in progress
	countedAt        time.Time
}

// ReserveUpload reserves space for one file in a job's quota, or returns a
// recording.QuotaError. Call done when the upload has ended; stored reports whether the
// file was stored.
func (r *Recordings) ReserveUpload(ctx context.Context, jobID uuid.UUID, size int64,
	quota recording.UploadQuota) (done func(stored bool), err error) {
	if done, _ = r.counts.reserve(jobID, size, quota, false); done != nil {
		return done, nil
	}
	release, err := r.counts.counting.Acquire(ctx, jobID.String(), 1)
	if err != nil {
		return nil, err
	}
	defer release()
	done, recount := r.counts.reserve(jobID, size, quota, false) // another upload may have counted
	if done == nil && recount {
		before := r.counts.stored(jobID)
		var counted recording.UploadQuota
		for object, err := range r.objects(ctx, uploadsFolder(jobID)) {
			if err != nil {
				return nil, err
			}
			if !isUnfinished(object.Key) {
				counted.Files++
				counted.Bytes += object.Size
			}
		}
		r.counts.set(jobID, before, counted)
		done, _ = r.counts.reserve(jobID, size, quota, true)
	}
	if done == nil {
		return nil, &recording.QuotaError{Quota: quota}
	}
	return done, nil
}

// reserve reserves space for one file, in the share of this node unless the uploads were
// counted just now. If the file does not fit, done is nil and recount reports whether the
// uploads should be counted again.
func (c *uploadCounts) reserve(jobID uuid.UUID, size int64, quota recording.UploadQuota,
	justCounted bool) (done func(stored bool), recount bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	job := c.jobs[jobID]
	if job == nil || job.stored.Files+job.reserved.Files >= quota.Files || job.stored.Bytes+job.reserved.Bytes+size > quota.Bytes {
		return nil, job == nil || time.Since(job.countedAt) > recountInterval
	}
	files := job.stored.Files + job.reserved.Files + 1 - job.counted.Files // since the last count, with this one
	bytes := job.stored.Bytes + job.reserved.Bytes + size - job.counted.Bytes
	if !justCounted && (files > (quota.Files-job.counted.Files)/nodeShare || bytes > (quota.Bytes-job.counted.Bytes)/nodeShare) {
		return nil, true
	}
	job.reserved.Files++
	job.reserved.Bytes += size
	return func(stored bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		job.reserved.Files--
		job.reserved.Bytes -= size
		if stored {
			job.stored.Files++
			job.stored.Bytes += size
		}
	}, false
}

// stored returns the last known uploads of a job.
func (c *uploadCounts) stored(jobID uuid.UUID) recording.UploadQuota {
	c.mu.Lock()
	defer c.mu.Unlock()
	if job := c.jobs[jobID]; job != nil {
		return job.stored
	}
	return recording.UploadQuota{}
}

// set replaces the count of a job. It adds the uploads stored since before,
// because counted may not include them.
func (c *uploadCounts) set(jobID uuid.UUID, before, counted recording.UploadQuota) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.jobs) >= maxTracked {
		for id, job := range c.jobs {
			if job.reserved.Files == 0 && time.Since(job.countedAt) > time.Hour {
				delete(c.jobs, id)
			}
		}
	}
	job := c.jobs[jobID]
	if job == nil {
		job = new(uploadCount)
		c.jobs[jobID] = job
	}
	counted.Files += job.stored.Files - before.Files
	counted.Bytes += job.stored.Bytes - before.Bytes
	job.counted, job.stored, job.countedAt = counted, counted, time.Now()
}

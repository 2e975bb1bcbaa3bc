package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"standin/internal/recording/storage"
	"standin/internal/recording/storage/s3"
	"standin/internal/server/service"
)

// checkStorage writes, reads and deletes an object in the recordings' storage.
func checkStorage(ctx context.Context, settings Settings) (Check, []clockReading) {
	const name = checkName("storage")
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	dir, err := filepath.Abs(settings.DataDir)
	if err != nil {
		return name.fail("give the data folder as an absolute path", "%v", err), nil
	}
	address := service.StorageAddress(settings.StorageURL, dir)
	parsed, err := url.Parse(address)
	if err != nil {
		return name.fail("give it the form file:///absolute/folder or s3://bucket",
			"the storage address is not a URL"), nil
	}
	if parsed.Scheme == fileblob.Scheme {
		if parsed.User != nil || parsed.Host != "" && parsed.Host != "localhost" || parsed.RawQuery != "" {
			return name.fail("give it the form file:///absolute/folder",
				"the storage address contains more than a folder"), nil
		}
		return checkFolderStorage(ctx, name, address, filepath.FromSlash(parsed.Path)), nil
	}
	where := parsed.Scheme + "://" + parsed.Host
	// The service's own storage rejects credentials in the address, and restricts the names of
	// objects, which this check does not follow.
	var bucket *blob.Bucket
	checked, err := storage.Open(ctx, address, s3.Open)
	if err == nil {
		err = checked.Close()
	}
	if err == nil {
		bucket, err = blob.OpenBucket(ctx, address)
	}
	if err != nil {
		return name.fail("give it the form file:///absolute/folder or s3://bucket?region=…",
			"%s: %v", where, err), nil
	}
	defer bucket.Close() // everything is already written
	written, finished, stored, err := probeBucket(ctx, bucket, "jobs/")
	if err != nil {
		return name.fail("make sure that the bucket exists, that its endpoint and region are right, that this machine reaches it, "+
			"that the clock is right, and that the credentials may put, get and delete objects under jobs/",
			"%s: %v", where, err), nil
	}
	// Object stores report whole seconds.
	return name.ok("%s: an object was written, read and deleted", where),
		[]clockReading{newClockReading(where, written, finished, stored, time.Second)}
}

// checkFolderStorage is checkStorage for a folder, which it does not create.
func checkFolderStorage(ctx context.Context, name checkName, address, folder string) Check {
	info, err := os.Stat(folder)
	if errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(folder) {
		if err := writable(existingParent(folder)); err != nil {
			return name.fail(createFolderFix(folder),
				"the folder %s does not exist and cannot be created: %v", folder, err)
		}
		return name.ok("the folder %s does not exist yet; standin serve creates it", folder)
	}
	if err == nil && !info.IsDir() {
		return name.fail("choose another folder, or move the file away",
			"%s is not a folder", folder)
	}
	checked, err := storage.Open(ctx, address, nil) // the folder exists: nothing is created
	if err == nil {
		err = checked.Close()
	}
	if err != nil {
		return name.fail("give it the form file:///absolute/folder", "%v", err)
	}
	bucket, err := fileblob.OpenBucket(folder, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o700})
	if err != nil {
		return name.fail("let this user read and write the folder", "%v", err)
	}
	defer bucket.Close()                        // everything is already written
	_, _, _, err = probeBucket(ctx, bucket, "") // without a folder, which would stay
	if err != nil {
		return name.fail("let this user read and write the folder, and make sure that its disk has free space",
			"the folder %s: %v", folder, err)
	}
	return name.ok("the folder %s: an object was written, read and deleted", folder)
}

// probeBucket writes, reads and deletes an object with a prefix. It returns the
// time before and after the write by this machine's clock, and the time of the
// object by the store's.
func probeBucket(ctx context.Context, bucket *blob.Bucket, prefix string) (written, finished, stored time.Time, err error) {
	content := []byte("standin doctor: " + rand.Text())
	key := prefix + "standin-doctor-" + strings.ToLower(rand.Text())
	written = time.Now()
	if err := bucket.WriteAll(ctx, key, content, nil); err != nil {
		return written, finished, stored, fmt.Errorf("write an object: %w", err)
	}
	finished = time.Now()
	failed := func(action string, cause error) {
		if cause != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", action, cause))
		}
	}
	read, cause := bucket.ReadAll(ctx, key)
	if cause == nil && !bytes.Equal(read, content) {
		cause = errors.New("its content differs from what was written")
	}
	failed("read the object that was written", cause)
	attributes, cause := bucket.Attributes(ctx, key)
	if cause == nil {
		stored = attributes.ModTime
	}
	failed("get the attributes of the object that was written", cause)
	failed("delete "+key, bucket.Delete(ctx, key))
	return written, finished, stored, err
}

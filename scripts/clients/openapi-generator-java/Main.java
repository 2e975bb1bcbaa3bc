import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.JobsApi;
import org.openapitools.client.api.RecordingsApi;
import org.openapitools.client.model.AutoLeaveConfig;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.Job;
import org.openapitools.client.model.JobCreate;
import org.openapitools.client.model.JobPage;
import org.openapitools.client.model.JobStatus;
import org.openapitools.client.model.LiveState;
import org.openapitools.client.model.Manifest;
import org.openapitools.client.model.MediaFile;
import org.openapitools.client.model.Platform;

/** Tests the client of openapi-generator, java. */
public class Main {
  interface Part {
    void run() throws Exception;
  }

  static boolean failed;

  /** Runs one part of the program and prints its result. */
  static void check(String name, Part part) {
    try {
      part.run();
      System.out.println(name + ": ok");
    } catch (Exception e) {
      failed = true;
      System.out.println(name + ": " + e.toString().lines().findFirst().orElse(""));
    }
  }

  static void equal(Object got, Object want) {
    if (!got.equals(want)) throw new IllegalStateException("got " + got + ", want " + want);
  }

  static Error refusal(Part part) throws Exception {
    try {
      part.run();
    } catch (ApiException e) {
      return Error.fromJson(e.getResponseBody());
    }
    throw new IllegalStateException("no error");
  }

  static UUID first, later;
  static MediaFile file;

  public static void main(String[] args) {
    ApiClient client = new ApiClient().setBasePath(System.getenv("STANDIN_URL"));
    client.setBearerToken(System.getenv("STANDIN_API_KEY"));
    JobsApi jobs = new JobsApi(client);
    RecordingsApi recordings = new RecordingsApi(client);
    String run = "run-" + ProcessHandle.current().pid() + "-" + System.nanoTime();
    String meetingUrl = "https://meet.google.com/abc-defg-hij";
    List<String> filter = List.of("run=" + run);

    check("create", () -> {
      Job job = jobs.createJob(new JobCreate().externalId(run + "-a").meetingUrl(java.net.URI.create(meetingUrl))
          .metadata(Map.of("run", run, "captions", true, "simulate", Map.of("seconds", 2)))
          .autoLeave(new AutoLeaveConfig().afterSoloSeconds(120)), null);
      equal(job.getAutoLeave().getAfterSoloSeconds(), 120);
      equal(job.getAutoLeave().getAfterMaxSeconds(), 14400);
      first = job.getId();
      later = jobs.createJob(new JobCreate().externalId(run + "-b").meetingUrl(java.net.URI.create(meetingUrl))
          .metadata(Map.of("run", run)).joinAt(OffsetDateTime.parse("2999-01-01T00:00:00Z")), null).getId();
    });
    check("list", () -> {
      List<UUID> ids = new ArrayList<>();
      String cursor = null;
      do {
        JobPage page = jobs.listJobs(cursor, 1, null, Platform.MEET, null, null, null, null, null, filter, null, null, null);
        page.getJobs().forEach(job -> ids.add(job.getId()));
        cursor = page.getNextCursor();
      } while (cursor != null);
      equal(ids, List.of(later, first));
      JobPage page = jobs.listJobs(null, null, List.of(JobStatus.SCHEDULED, JobStatus.FAILED), null, null,
          OffsetDateTime.parse("2020-01-01T00:00:00Z"), null, null, null, filter, null, null, null);
      equal(page.getJobs().get(0).getId(), later);
    });
    check("get", () -> {
      Job job = jobs.getJob(later);
      equal(job.getStatus(), JobStatus.SCHEDULED);
      equal(job.getJoinAt().getYear(), 2999);
    });
    check("cancel", () -> jobs.cancelJob(later));
    check("live", () -> {
      boolean completed = false;
      String name = "";
      try (okhttp3.Response response = jobs.liveJobCall(first, null, null, null).execute();
          BufferedReader lines = new BufferedReader(new InputStreamReader(response.body().byteStream()))) {
        for (String line; (line = lines.readLine()) != null; ) {
          if (line.startsWith("event: ")) name = line.substring(7);
          if (line.startsWith("data: ") && name.equals("state"))
            completed = LiveState.fromJson(line.substring(6)).getStatus() == JobStatus.COMPLETED;
        }
      }
      equal(completed, true);
      equal(name, "end");
    });
    check("manifest", () -> {
      Manifest manifest = recordings.getManifest(first);
      equal(manifest.getParticipants().stream().anyMatch(one -> one.getName().equals("Ada Quill")), true);
      file = manifest.getMedia().get(0);
    });
    check("media", () -> {
      byte[] content = Files.readAllBytes(recordings.getMedia(first, file.getName(), null).toPath());
      equal(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content)), file.getSha256());
    });
    check("errors", () -> {
      Error refused = refusal(() -> jobs.createJob(new JobCreate().externalId(run + "-c").meetingUrl(java.net.URI.create("none")), null));
      equal(refused.getIssues().get(0).getPath().get(0).getActualInstance(), "meetingUrl");
      equal(refusal(() -> jobs.getJob(new UUID(0, 0))).getError(), "not_found");
    });
    System.exit(failed ? 1 : 0);
  }
}

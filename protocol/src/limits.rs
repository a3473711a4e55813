//! Everything has a limit, and the protocol's limits are here.

use std::time::Duration;

/// A blob: an app's module, or an input of a run. The coordinator takes no larger one.
pub const BLOB_BYTES_MAX: usize = 64 << 20;
/// So many ancestors of a job travel with it.
pub const LINEAGE_LENGTH_MAX: usize = 48;
/// One websocket message: a whole protocol message, a batch of them, or a fragment of one.
pub const FRAME_BYTES_MAX: usize = 256 << 10;
/// Messages in one frame: a byte or two can be a message, which takes hundreds of bytes in memory.
pub const MESSAGES_PER_FRAME_MAX: usize = 4096;
/// Memory that decoding any number of bytes may take, in bytes; see [`frugal`](crate::frugal).
pub const DECODED_FREE_BYTES: usize = 64 << 10;
/// Memory that each byte may take when decoded: it is copied, and a list may have room for twice its elements.
pub const DECODED_BYTES_A_BYTE: usize = 2;
/// Memory that each byte may take in addition, up to [`DECODED_DENSE_BYTES_MAX`] in all: numbers and short
/// strings are many times as large in memory.
pub const DECODED_DENSE_BYTES_A_BYTE: usize = 32;
/// Long messages are long because of bytes that are copied, not because of many small things.
pub const DECODED_DENSE_BYTES_MAX: usize = 32 << 20;
/// One protocol message, put together from fragments. Only between hosts and the coordinator; what may be larger
/// travels as a parcel, and between hosts all that is larger than a frame.
pub const MESSAGE_BYTES_MAX: usize = 8 << 20;
/// Lists that have no bound in bytes are cut into messages of about this length: entries, notes, lines of logs.
pub const MESSAGE_PART_BYTES: usize = 64 << 10;
/// A message whose payload is longer travels as a parcel (see [`parcel`](crate::parcel)).
pub const PARCEL_BYTES_MIN: usize = 64 << 10;
/// One parcel: a job or a result of the largest size, and what belongs to it.
pub const PARCEL_BYTES_MAX: usize = 80 << 20;
/// The bytes of a parcel's chunk. At 10 KiB/s it takes 3 s, so even then a link is not taken for silent.
pub const CHUNK_BYTES_MAX: usize = 32 << 10;
/// Parcels of one peer that are announced and have not arrived, each way.
pub const PARCELS_WITH_PEER_MAX: usize = 256;
/// Parcels that are pulled at once; the others wait their turn.
pub const PARCELS_PULLED_MAX: usize = 8;
/// Of those, from one peer.
pub const PARCELS_PULLED_PER_PEER_MAX: usize = 2;
/// Bytes that one host is sent at once because it asks for results and replicas; what is more travels as a parcel,
/// which it has to pull.
pub const ASKED_BYTES_AT_ONCE_MAX: u64 = 4 << 20;
/// Bytes that it is sent per second beyond that.
pub const ASKED_BYTES_PER_SECOND: u64 = 16 << 20;
/// The announced bytes of all parcels of which something has arrived; a single one may be longer.
pub const PARCELS_INCOMING_BYTES_MAX: usize = 256 << 20;
/// The bytes of all parcels that are kept until they have arrived elsewhere; a single one may be longer.
pub const PARCELS_OUTGOING_BYTES_MAX: usize = 512 << 20;
/// Bytes of a parcel that are asked for ahead, at first and on slow links.
pub const PARCEL_WINDOW_BYTES_MIN: usize = 128 << 10;
/// The same on fast links.
pub const PARCEL_WINDOW_BYTES_MAX: usize = 1 << 20;
/// A result that the table holds itself; larger ones it holds by location.
pub const INLINE_RESULT_BYTES_MAX: usize = 4 << 10;
/// Maximum entries of one message: each is found by all the jobs above it, so they take time to add.
pub const ENTRIES_PER_MESSAGE_MAX: usize = 16;
/// Maximum rows of hosts in runs that are over and whose counts are not final; of a single one there may be more. Beyond,
/// hosts that have not said what they counted last are not waited for.
pub const OVER_ROWS_MAX: usize = 1 << 16;
/// Accusations of one host that are passed on at once.
pub const ACCUSATIONS_AT_ONCE_MAX: u32 = 8;
/// Refusals of unknown parcels that one sender gets at once; chunks beyond are dropped.
pub const REFUSALS_AT_ONCE_MAX: u32 = 32;
/// Maximum hosts that a host remembers to have cut off; the first are forgotten.
pub const CUT_OFF_HOSTS_MAX: usize = 4096;
/// Maximum lost jobs of a run that a host remembers to have run again; below earlier ones it looks no further.
pub const REDOING_MAX: usize = 4096;
/// Entries that one event of a host looks at for what a job that is run again may find; the others follow at once.
pub const EXPECTED_AT_ONCE_MAX: usize = 16;
/// Maximum entries that a thief gets with a job that is run again, those nearest to it.
pub const FORWARDED_ENTRIES_MAX: usize = 512;
/// A host's name, a site's name, an address, a reason.
pub const TEXT_BYTES_MAX: usize = 256;
/// Why a run or a host cannot go on: such texts may quote an error at length.
pub const REASON_BYTES_MAX: usize = 64 * TEXT_BYTES_MAX;

/// `text` as it may travel: what is too long is cut.
pub fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

/// A host's own part of the result table, for each run.
pub const HOST_TABLE_BYTES_MAX: usize = 64 << 20;
/// The coordinator's result table, for each run.
pub const COORDINATOR_TABLE_BYTES_MAX: usize = 256 << 20;
/// The tables of all runs together take at most so many times the bound of one.
pub const TABLES_TOGETHER_MAX: usize = 2;
/// Requests of one thief that wait at one victim, for each run.
pub const PARKED_STEALS_PER_THIEF_MAX: usize = 64;
/// Local steal requests that a host has under way at once, for each run.
pub const STEALS_IN_SITE_MAX: usize = 4;
/// Jobs that a host holds for others, for each run; a job that comes beyond is handed back.
pub const HELD_JOBS_MAX: usize = 4096;
/// Loans, or requests, that one message lists: each held job, and again those that their owner asked to adopt.
pub const LISTED_JOBS_MAX: usize = 2 * HELD_JOBS_MAX;
/// Those who wait for the same job at one host; the equal jobs of further ones are run again.
pub const OWNERS_PER_JOB_MAX: usize = 1024;
/// Maximum requests to victims of a host's own site that wait for an answer, for each run, where these do not answer
/// soon.
pub const STEALS_UNANSWERED_MAX: usize = 64;
/// Lines of an app's log that wait for a coordinator that is away; what comes beyond is left out.
pub const LOG_LINES_WAITING_MAX: usize = 1024;
/// Maximum hosts that are sent new entries below some job, counted for each of these jobs, for each run; the oldest
/// give way.
pub const SUBSCRIBED_JOBS_MAX: usize = 64 * 1024;
/// Maximum hosts that are sent new entries below the same job; the oldest give way.
pub const SUBSCRIBERS_PER_JOB_MAX: usize = 16;
/// Maximum hosts that are sent the same new entry: those that redo the nearest jobs above it.
pub const SUBSCRIBERS_PER_ENTRY_MAX: usize = 16;
/// Maximum searches that wait for hosts to recover or for their answers; further ones find nothing.
pub const SEARCHES_WAITING_MAX: usize = 64 * 1024;
/// Maximum searches of one host among these.
pub const SEARCHES_PER_HOST_MAX: usize = 4096;
/// Bytes of entries that a host is sent at once in answers to its searches.
pub const ANSWER_BURST_BYTES: usize = 512 << 10;
/// Bytes of entries that a host is sent per second beyond that.
pub const ANSWER_BYTES_PER_SECOND: u64 = 4 << 20;
/// Maximum hosts that are introduced in one event because entries are there. Who needs another searches for it.
pub const INTRODUCED_AT_ONCE_MAX: usize = 16;
/// A host that knows this many others is introduced because of entries only to the place of a job that it searched for.
pub const CIRCLE_OF_ENTRIES_MAX: usize = 1024;
/// Reasons of hosts that cannot run an app that are kept whole, for each run; others are shortened.
pub const REASONS_KEPT_WHOLE_MAX: usize = 16;
/// Notes about jobs, for the tree, that wait to be sent; what comes beyond is counted.
pub const NOTES_WAITING_MAX: usize = 1024;
/// Shared objects that the parameters of one job mention.
pub const OBJECTS_PER_JOB_MAX: usize = 1024;
/// Shared objects of one run that are kept at a host though no job there has mentioned them: hosts that leave send what
/// only they have.
pub const OBJECTS_UNMENTIONED_MAX: usize = 4096;
/// The replicas of such objects, together.
pub const UNMENTIONED_BYTES_MAX: u64 = 128 << 20;
/// Shared objects of one run at one host.
pub const OBJECTS_PER_RUN_MAX: usize = 64 * 1024;
/// The replicas of a run's shared objects at one host, together, unless the run says otherwise.
pub const SHARED_BYTES_MAX: u64 = 1 << 30;
/// Hosts that a message names as having a replica.
pub const SHARERS_PER_MESSAGE_MAX: usize = 256;
/// Updates of one message: so many bytes, unless a single one has more.
pub const SHARED_MESSAGE_BYTES_MAX: usize = 4 << 20;
/// Replicas are compared with those of so many others at a time.
pub const SHARED_COMPARED_MAX: usize = 8;
/// Hosts that lent jobs with an object, to be asked for it.
pub const SHARED_HINTS_MAX: usize = 8;
/// What a shared object is counted for besides its replica.
pub const SHARED_OBJECT_OVERHEAD_BYTES: usize = 512;
/// Logs of one shared object: those of its hosts, and of each the ones that ended with updates that it had lost.
pub const SHARED_WRITERS_MAX: usize = 4096;
/// What is counted for an update besides its bytes.
pub const SHARED_UPDATE_OVERHEAD_BYTES: usize = 64;
/// A guest is asked for a new base when the updates since the last take more than it, and more than this.
pub const SHARED_LOG_BYTES_MIN: usize = 64 << 10;
/// Updates that the base holds already are kept for those who missed some, up to the size of the base and
/// at least this.
pub const SHARED_TAIL_BYTES_MIN: usize = 1 << 20;
/// A host's own updates are kept until all others have them, up to this for an object. Objects that it uses no
/// more and keeps only for that may take as much together.
pub const SHARED_UNSTABLE_BYTES_MAX: usize = 64 << 20;
/// Updates of an object that came before others are kept, up to this.
pub const SHARED_EARLY_BYTES_MAX: usize = 4 << 20;
/// Workers of which a host tells what they do.
pub const WORKERS_REPORTED_MAX: usize = 256;
/// Parameters that a note about a job carries.
pub const NOTED_PARAMETERS_BYTES_MAX: usize = 4 << 10;
/// The parameters of all notes that wait to be sent.
pub const NOTED_PARAMETERS_WAITING_BYTES_MAX: usize = 1 << 20;
/// Hosts that a host may know.
pub const ACQUAINTANCES_MAX: usize = 64 * 1024;
/// How large circles are. Where there are at most `…_all` others, a host knows all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circle {
    /// So many others in its own site.
    pub near_all: usize,
    /// Of a larger site, about so many, drawn at random.
    pub near_drawn: usize,
    /// So many hosts of other sites.
    pub far_all: usize,
    /// Of more, about so many, drawn at random.
    pub far_drawn: usize,
    /// A host whose circle is drawn gets another acquaintance so often.
    pub renewed_every: Duration,
}

/// Who knows whom, unless a coordinator is set up differently.
pub const CIRCLE: Circle = Circle {
    near_all: 256,
    near_drawn: 64,
    far_all: 512,
    far_drawn: 64,
    renewed_every: Duration::from_secs(60),
};
/// Maximum hosts that are gone and have a row of counts of their own, for each run.
pub const GONE_HOSTS_LISTED_MAX: usize = 256;
/// Hosts that are gone of which one event decides what becomes of their rows; more follow when others go.
pub const GONE_HOSTS_FOLDED_AT_ONCE_MAX: usize = 8;
/// Maximum hosts without such a row that are known to have been counted, for each run.
pub const GONE_HOSTS_REMEMBERED_MAX: usize = 16 * 1024;
/// Runs that are given to hosts at once; more wait their turn.
pub const RUNS_ACTIVE_MAX: usize = 8;

/// A victim that computes keeps a request so long if it has nothing to give yet.
pub const PARK: Duration = Duration::from_millis(3);
/// The same for a request from another site, which has travelled for longer.
pub const PARK_WIDE: Duration = Duration::from_millis(25);
/// A victim that has not answered within this time keeps the thief from no other.
pub const STEAL_SLOW: Duration = Duration::from_millis(50);
/// A steal request that was not answered is given up.
pub const STEAL_TIMEOUT: Duration = Duration::from_secs(3);
/// After a round of refusals a thief rests, and twice as long after each further one.
pub const STEAL_REST_MIN: Duration = Duration::from_micros(500);
/// The longest rest within a site.
pub const STEAL_REST_MAX: Duration = Duration::from_millis(50);
/// The longest rest between requests to other sites.
pub const STEAL_REST_WIDE_MAX: Duration = Duration::from_millis(200);
/// Further accusations of one host are passed on at this distance.
pub const ACCUSATION_EVERY: Duration = Duration::from_secs(10);
/// Hosts that one host is introduced to at once because it asks for that; what it asks for beyond is not done.
pub const INTRODUCTIONS_AT_ONCE_MAX: u32 = 1024;
/// Further such introductions are made at this distance.
pub const INTRODUCTION_EVERY: Duration = Duration::from_millis(50);
/// Maximum times in a row that a host may pause and work again; then it waits in between.
pub const UNPAUSES_AT_ONCE_MAX: u32 = 8;
/// The distance of further ones.
pub const UNPAUSE_EVERY: Duration = Duration::from_secs(5);
/// Further refusals of unknown parcels are sent to one sender at this distance.
pub const REFUSAL_EVERY: Duration = Duration::from_millis(100);
/// How often hosts tell one another what they hold, so that whatever was lost on the way is noticed.
pub const RECONCILE: Duration = Duration::from_secs(1);
/// The longest time to which the wait for an answer is doubled before something is sent again.
pub const REPEAT_MAX: Duration = Duration::from_secs(60);
/// The same for a small message: copies of it fill no queue, and on a link that loses much they are needed.
pub const REPEAT_SMALL_MAX: Duration = Duration::from_secs(2);
/// Maximum bytes of a small message.
pub const REPEAT_SMALL_BYTES: usize = 1 << 10;
/// Maximum messages that a host has sent and may send again; of more, some are sent once too often.
pub const REPEATS_MAX: usize = 64 * 1024;
/// Finished work is recorded so often, in milliseconds, unless a run says otherwise.
pub const RECORD_EVERY_MS: u32 = 250;
/// Results that took less are not worth an entry, however often they are recorded.
pub const RECORDED_WORK_MIN: Duration = Duration::from_millis(5);
/// Nor are those that took less than such a part of the time between two recordings: a crash loses more.
pub const RECORDED_PARTS: u32 = 50;
/// What was asked for of a parcel and does not come is asked for again after this time, at least.
pub const PARCEL_PATIENCE_MIN: Duration = Duration::from_secs(1);
/// The longest such time.
pub const PARCEL_PATIENCE_MAX: Duration = Duration::from_secs(8);
/// A parcel of which nothing comes for this time is given up by its receiver.
pub const PARCEL_STALE: Duration = Duration::from_secs(20);
/// A parcel that its receiver does not ask for during this time is given up by its sender.
pub const PARCEL_UNWANTED_MAX: Duration = Duration::from_secs(60);
/// Entries and notes wait so long for company.
pub const FLUSH: Duration = Duration::from_millis(100);
/// How often a host tells the coordinator its counts.
pub const COUNTS: Duration = Duration::from_millis(500);
/// The same when a job has ended, so that a run that ends has the figures of its last moments.
pub const COUNTS_SOON: Duration = Duration::from_millis(50);
/// Time after which a run that some hosts cannot load and no other has loaded gives its turn up to those that wait.
pub const UNREADY_TURN_MAX: Duration = Duration::from_secs(30);
/// Time for which a run that no host can load waits before it is tried again; longer after each time.
pub const UNREADY_REST_MIN: Duration = Duration::from_secs(10);
/// The longest such time.
pub const UNREADY_REST_MAX: Duration = Duration::from_secs(600);
/// Who came and who went is told to a host about so often, if much happens.
pub const NEWS: Duration = Duration::from_millis(10);
/// So many messages of that kind go out at once.
pub const NEWS_AT_ONCE: u32 = 16;
/// The coordinator pings hosts so often.
pub const PING: Duration = Duration::from_secs(1);
/// A host whose link is open and from which nothing has come for so long is given up.
pub const SILENCE_MAX: Duration = Duration::from_secs(5);
/// A host whose link has closed is given up after so long. Most are dead, and what ran there waits for this;
/// the jobs of one that was only cut off are adopted.
pub const RECONNECT_GRACE: Duration = Duration::from_millis(300);
/// Time for which a host that was given up may come back under its id; later it comes back as another.
pub const IDENTITY_KEPT: Duration = Duration::from_secs(5);
/// Maximum hosts given up that may come back under their ids.
pub const MISSING_HOSTS_MAX: usize = 64 * 1024;
/// After a coordinator's driver was held up, hosts have this time to be heard, or to come back, before any of
/// them is given up.
pub const LISTEN_AGAIN: Duration = Duration::from_secs(3);
/// Hosts that the coordinator checks for silence in one event; the others follow at once.
pub const SILENCE_CHECKS_MAX: usize = 64;
/// Hosts that one event of the coordinator tells something that all are told; the others follow at once.
pub const BROADCAST_AT_ONCE_MAX: usize = 128;
/// Circles of acquaintances that one event of the coordinator renews; the others follow at once.
pub const RENEWED_AT_ONCE_MAX: usize = 4;
/// Runs in which one event of the coordinator looks for what a host has to do with; the others follow at once.
pub const RUNS_LOOKED_AT_ONCE_MAX: usize = 16;
/// Hosts that one event of the coordinator asks what they go on with, after a restart; the others follow at once.
pub const ASKED_AT_ONCE_MAX: usize = 1;
/// Entries that one event of the coordinator frees; the others follow at once. Each is listed below all its ancestors.
pub const ENTRIES_FREED_AT_ONCE_MAX: usize = 8;
/// Entries that one event of the coordinator has saved; the others follow at once.
pub const ENTRIES_SAVED_AT_ONCE_MAX: usize = 32;
/// Entries that one event of a host forgets; the others follow at once.
pub const FORGOTTEN_AT_ONCE_MAX: usize = 8;
/// Searches that one event of the coordinator answers; the others follow at once.
pub const SEARCHES_ANSWERED_AT_ONCE_MAX: usize = 8;
/// Hosts that the coordinator gives up in one event; the others follow at once.
pub const GIVEN_UP_AT_ONCE_MAX: usize = 1;
/// Hosts that one event of the coordinator tells others about; what is more follows at once.
pub const NEWS_AT_A_TIME_MAX: usize = 8;
/// Acquaintances that one event of the coordinator tells of a host that has come or is gone; the others follow at
/// once.
pub const SHOWN_AT_ONCE_MAX: usize = 16;
/// Maximum hosts that one message introduces to another; the others follow in the next.
pub const JOINED_PER_MESSAGE_MAX: usize = 20;
/// Acquaintances named by a host after a restart that one event of the coordinator notes; the others follow at once.
pub const KNOWN_AT_ONCE_MAX: usize = 32;
/// Searches of a host that end without an answer in one event; the others follow at once.
pub const SEARCHES_ENDED_AT_ONCE_MAX: usize = 64;
/// A coordinator that was started again waits so long for its hosts before it gives them up.
pub const RESTART_GRACE: Duration = Duration::from_secs(3);
/// The coordinator waits so long for all hosts to say what they hold of a crashed one's jobs.
pub const SETTLE_MAX: Duration = Duration::from_millis(500);
/// Time after which the coordinator no longer waits for a host to answer that it was told of a departure. A silent host
/// is given up after [`SILENCE_MAX`]; the answer of one behind a slow link may take as long once more.
pub const DEPARTURE_ANSWER_MAX: Duration = Duration::from_secs(10);
/// Departures for whose answers one event of the coordinator stops waiting; the others follow at once.
pub const DEPARTURES_EXPIRED_AT_ONCE_MAX: usize = 256;
/// A host waits so long for the coordinator's entries before it redoes a job without them.
pub const FIND_TIMEOUT: Duration = Duration::from_secs(2);
/// A host's updates of an object wait so long for company, if some were sent just before.
pub const SHARED_FLUSH: Duration = Duration::from_millis(1);
/// Hosts compare their replicas of an object so soon after something has come to it, and ever less often
/// while nothing does.
pub const SHARED_COMPARE_MIN: Duration = Duration::from_millis(250);
/// The longest time between two comparisons.
pub const SHARED_COMPARE_MAX: Duration = Duration::from_secs(4);
/// Whoever finds that updates are missing asks for them so often, at most.
pub const SHARED_ASK: Duration = Duration::from_millis(20);
/// A replica that was asked for and has not come is asked for elsewhere; later ones have longer.
pub const SHARED_FETCH_MIN: Duration = Duration::from_secs(1);
/// Whoever has asked all for a replica in vain asks again after so long.
pub const SHARED_FETCH_REST: Duration = Duration::from_millis(250);
/// An object that no job of a host mentions is forgotten there after once or twice so long.
pub const SHARED_UNUSED: Duration = Duration::from_secs(5);
/// Time for which a host that had a replica of an object and was given up is kept in mind: it may sleep. One that comes
/// back later compares its replica with those of all hosts that it comes to know.
pub const SHARED_FORMER_MAX: Duration = Duration::from_secs(600);
/// Hosts that get an object from the only one that has it, before that one leaves.
pub const SHARED_HEIRS: usize = 2;
/// The longest that a replica may take.
pub const SHARED_FETCH_MAX: Duration = Duration::from_secs(16);
/// At a leave, pause or suspension, guests may continue for so long with what is not saved.
pub const FINISHING_MAX: Duration = Duration::from_millis(1500);
/// And have so long to come to rest.
pub const DRAIN_MAX: Duration = Duration::from_millis(2500);
/// A host that leaves lets others fetch results and replicas until then, counted from the order to leave.
pub const LEAVE_HAND_OVER_MAX: Duration = Duration::from_millis(3000);
/// And waits for the answer to its goodbye until then.
pub const LEAVE_MAX: Duration = Duration::from_millis(3500);

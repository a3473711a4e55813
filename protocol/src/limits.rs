//! The protocol's limits: sizes, numbers and times.

mod checks;

use std::time::Duration;

pub use checks::*;

/// Maximum size of a blob: an app's module, or an input of a run.
pub const BLOB_BYTES_MAX: usize = 64 << 20;
/// Maximum number of ancestors sent with a job.
pub const LINEAGE_LENGTH_MAX: usize = 48;
/// Maximum size of a websocket message, which is a whole protocol message, a batch of them, or a fragment of one.
pub const FRAME_BYTES_MAX: usize = 256 << 10;
/// Maximum messages in one frame. A message of a byte or two can take hundreds of bytes in memory.
pub const MESSAGES_PER_FRAME_MAX: usize = 4096;
/// Memory that decoding may take regardless of the number of encoded bytes; see [`frugal`](crate::frugal).
pub const DECODED_FREE_BYTES: usize = 64 << 10;
/// Memory that decoding may take for each encoded byte, in bytes: the byte is copied, and a list may have room for
/// twice its elements.
pub const DECODED_BYTES_A_BYTE: usize = 2;
/// Additional memory that decoding may take for each encoded byte, up to [`DECODED_DENSE_BYTES_MAX`] in all: numbers
/// and short strings are many times as large in memory.
pub const DECODED_DENSE_BYTES_A_BYTE: usize = 32;
/// Maximum of that additional memory. Long messages are long because of bytes that are copied, not because of many
/// small values.
pub const DECODED_DENSE_BYTES_MAX: usize = 32 << 20;
/// Maximum size of a protocol message that is put together from fragments, which only links to the coordinator carry.
/// Messages that may be larger travel as parcels, as do all messages between hosts that are larger than a frame.
pub const MESSAGE_BYTES_MAX: usize = 8 << 20;
/// Lists without a bound in bytes (entries, notes, lines of logs) are split into messages of about this length.
pub const MESSAGE_PART_BYTES: usize = 64 << 10;
/// A message whose payload is longer travels as a parcel (see [`parcel`](crate::parcel)).
pub const PARCEL_BYTES_MIN: usize = 64 << 10;
/// Maximum size of a parcel: a job or a result of the maximum size, and the other fields of its message.
pub const PARCEL_BYTES_MAX: usize = 80 << 20;
/// Maximum bytes of a parcel's chunk. At 10 KiB/s it takes 3 s, so even such a link is not taken for silent.
pub const CHUNK_BYTES_MAX: usize = 32 << 10;
/// Maximum parcels between two peers, in each direction, that are announced and have not arrived.
pub const PARCELS_WITH_PEER_MAX: usize = 256;
/// Maximum parcels that are pulled at once; the others wait their turn.
pub const PARCELS_PULLED_MAX: usize = 8;
/// Maximum parcels among these that are pulled from one peer.
pub const PARCELS_PULLED_PER_PEER_MAX: usize = 2;
/// Bytes of results and replicas that one host is sent at once when it asks for them. Beyond that, they travel as
/// parcels, which the host must pull.
pub const ASKED_BYTES_AT_ONCE_MAX: u64 = 4 << 20;
/// Bytes of these that it is sent per second beyond that.
pub const ASKED_BYTES_PER_SECOND: u64 = 16 << 20;
/// Maximum announced bytes of all parcels that have begun to arrive; a single parcel may be longer. Those of one sender
/// take at most half of it.
pub const PARCELS_INCOMING_BYTES_MAX: usize = 256 << 20;
/// Maximum bytes of all parcels that are kept until their receivers have them; a single parcel may be longer. Those of
/// one receiver take at most half of it.
pub const PARCELS_OUTGOING_BYTES_MAX: usize = 512 << 20;
/// Bytes of a parcel that its receiver asks for ahead, at first and on slow links.
pub const PARCEL_WINDOW_BYTES_MIN: usize = 128 << 10;
/// The same on fast links.
pub const PARCEL_WINDOW_BYTES_MAX: usize = 1 << 20;
/// Maximum size of a result that the table holds itself; of a larger one it holds the place.
pub const INLINE_RESULT_BYTES_MAX: usize = 4 << 10;
/// Maximum entries of one message. An entry takes time to add, as it is listed below each of its ancestors.
pub const ENTRIES_PER_MESSAGE_MAX: usize = 16;
/// Maximum rows of hosts in all runs that are over and whose counts are not final; a single run may have more. Beyond
/// that, the coordinator does not wait for the last counts of further hosts.
pub const OVER_ROWS_MAX: usize = 1 << 16;
/// Maximum accusations by one host that are passed on at once.
pub const ACCUSATIONS_AT_ONCE_MAX: u32 = 8;
/// Maximum refusals of unknown parcels that one sender is sent at once; further chunks are dropped without one.
pub const REFUSALS_AT_ONCE_MAX: u32 = 32;
/// Maximum hosts that a host remembers to have cut off; the oldest are forgotten first.
pub const CUT_OFF_HOSTS_MAX: usize = 4096;
/// Maximum lost jobs of a run that a host remembers to have run again. It no longer searches for entries below earlier
/// ones.
pub const REDOING_MAX: usize = 4096;
/// Entries that one event of a host checks for results that a job that is run again may find; the others follow at
/// once.
pub const EXPECTED_AT_ONCE_MAX: usize = 16;
/// Entries that one event of a host checks for whether they may still be found.
pub const SOUGHT_CHECKED_AT_ONCE_MAX: usize = 128;
/// Maximum entries sent to a thief with a job that is run again: those nearest to the job.
pub const FORWARDED_ENTRIES_MAX: usize = 512;
/// Maximum entries sent to a thief with a job that is run again and that do not name it, as they may be below it: those
/// nearest to the job.
pub const UNNAMED_ENTRIES_MAX: usize = 64;
/// Maximum length of a host's name, a site's name, an address or a reason.
pub const TEXT_BYTES_MAX: usize = 256;
/// Maximum length of a text that may quote an error at length, such as the reason why a run or a host cannot continue.
pub const REASON_BYTES_MAX: usize = 64 * TEXT_BYTES_MAX;

/// Returns `text`, cut to the length that may be sent.
pub fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

/// Maximum memory of a host's own part of the result table, for each run.
pub const HOST_TABLE_BYTES_MAX: usize = 64 << 20;
/// Maximum memory of the coordinator's result table, for each run.
pub const COORDINATOR_TABLE_BYTES_MAX: usize = 256 << 20;
/// Maximum memory of the tables of all runs together, as a multiple of the bound of one table.
pub const TABLES_TOGETHER_MAX: usize = 2;
/// Maximum requests of one thief that wait at one victim, for each run.
pub const PARKED_STEALS_PER_THIEF_MAX: usize = 64;
/// Maximum steal requests within its site that a host has under way at once, for each run.
pub const STEALS_IN_SITE_MAX: usize = 4;
/// Maximum results for which others ask while a host loads a run, and which it looks for afterwards; further requests are
/// answered at once.
pub const EARLY_WANTS_MAX: usize = 1024;
/// A thief asks for its next job ahead while its jobs take less time than this many round trips.
pub const AHEAD_TRIPS: u32 = 32;
/// Maximum jobs that are to wait for each worker before it asks for more.
pub const AHEAD_PER_WORKER_MAX: usize = 32;
/// A runtime may keep the news that a job has begun or finished for this long while others wait, so that it is sent with news
/// of these.
pub const NEWS_KEPT_MAX: Duration = Duration::from_millis(2);
/// Maximum jobs that answer one steal request.
pub const JOBS_PER_STEAL_MAX: usize = 64;
/// Maximum work of the jobs that a thief asks for with one request, as far as it knows, unless a round trip takes longer. A
/// victim that runs out of jobs waits for the last ones for as long.
pub const WORK_PER_STEAL_MAX: Duration = Duration::from_millis(8);
/// Maximum bytes of the parameters of several jobs that answer one request.
pub const JOBS_BYTES_MAX: usize = 32 << 10;
/// Maximum jobs that a host holds for others, for each run; further jobs are handed back.
pub const HELD_JOBS_MAX: usize = 4096;
/// Maximum results of a run that wait at one host until the same owner has confirmed them; further jobs of that owner are
/// handed back, so that they do not take the room of others.
pub const UNCONFIRMED_RESULTS_MAX: usize = HELD_JOBS_MAX / 4;
/// Maximum loans, or requests, that one message lists: each held job once, and those that their owner asked to adopt
/// twice.
pub const LISTED_JOBS_MAX: usize = 2 * HELD_JOBS_MAX;
/// Maximum owners that wait for the same job at one host; the equal jobs of further owners are run again.
pub const OWNERS_PER_JOB_MAX: usize = 1024;
/// Maximum steal requests within its site for which a host waits, for each run, where victims are slow to answer.
pub const STEALS_UNANSWERED_MAX: usize = 64;
/// Maximum lines of an app's log that wait while the coordinator is away; further lines are left out.
pub const LOG_LINES_WAITING_MAX: usize = 1024;
/// Maximum subscriptions of hosts to new entries below a job, for each run, summed over all jobs; new ones replace the
/// oldest.
pub const SUBSCRIBED_JOBS_MAX: usize = 64 * 1024;
/// Maximum hosts that are sent new entries below the same job; new ones replace the oldest.
pub const SUBSCRIBERS_PER_JOB_MAX: usize = 16;
/// Maximum hosts that are sent the same new entry: those that redo the nearest jobs above it.
pub const SUBSCRIBERS_PER_ENTRY_MAX: usize = 16;
/// Maximum searches that wait until hosts have recovered or until their answers are sent; further ones find nothing.
pub const SEARCHES_WAITING_MAX: usize = 64 * 1024;
/// Maximum searches among these that come from one host.
pub const SEARCHES_PER_HOST_MAX: usize = 4096;
/// Bytes of entries that a host is sent at once in answers to its searches.
pub const ANSWER_BURST_BYTES: usize = 512 << 10;
/// Bytes of entries that a host is sent per second beyond that.
pub const ANSWER_BYTES_PER_SECOND: u64 = 4 << 20;
/// The same for results of earlier runs, whose total is bounded.
pub const EARLIER_BYTES_PER_SECOND: u64 = 64 << 20;
/// Maximum hosts that one event introduces because entries name them. A host searches for others that it needs.
pub const INTRODUCED_AT_ONCE_MAX: usize = 16;
/// A host that knows this many others is introduced because of an entry only if it has searched for the entry's job.
pub const CIRCLE_OF_ENTRIES_MAX: usize = 1024;
/// Maximum reasons why hosts cannot run an app that are kept whole, for each run; further ones are shortened.
pub const REASONS_KEPT_WHOLE_MAX: usize = 16;
/// Maximum notes about jobs, for the tree, that wait to be sent; further ones are only counted.
pub const NOTES_WAITING_MAX: usize = 1024;
/// Maximum shared objects that the parameters of one job mention.
pub const OBJECTS_PER_JOB_MAX: usize = 1024;
/// Maximum shared objects of one run that a host keeps although no job there has mentioned them: hosts that leave send
/// others the objects that only they have.
pub const OBJECTS_UNMENTIONED_MAX: usize = 4096;
/// Maximum memory of the replicas of such objects, together.
pub const UNMENTIONED_BYTES_MAX: u64 = 128 << 20;
/// Maximum shared objects of one run at one host.
pub const OBJECTS_PER_RUN_MAX: usize = 64 * 1024;
/// Maximum memory of the replicas of a run's shared objects at one host, together, unless the run sets another limit.
pub const SHARED_BYTES_MAX: u64 = 1 << 30;
/// Maximum hosts that a message names as having a replica.
pub const SHARERS_PER_MESSAGE_MAX: usize = 256;
/// Maximum hosts that a message names as having had a replica when they were given up.
pub const FORMER_SHARERS_PER_MESSAGE_MAX: usize = 32;
/// Maximum bytes of the updates of one message, unless a single update has more.
pub const SHARED_MESSAGE_BYTES_MAX: usize = 4 << 20;
/// Maximum other hosts with whose replicas a replica is compared at a time.
pub const SHARED_COMPARED_MAX: usize = 8;
/// Maximum hosts that are remembered for having lent a job that mentions an object, so that they can be asked for it.
pub const SHARED_HINTS_MAX: usize = 8;
/// Bytes that a shared object is counted for besides its replica.
pub const SHARED_OBJECT_OVERHEAD_BYTES: usize = 512;
/// Maximum logs of one shared object: one for each host that updates it, and one more each time a host has lost updates
/// of its own.
pub const SHARED_WRITERS_MAX: usize = 4096;
/// Bytes that an update is counted for besides its own.
pub const SHARED_UPDATE_OVERHEAD_BYTES: usize = 64;
/// A guest is asked for a new base when the updates since the last base take more than that base, and more than this.
pub const SHARED_LOG_BYTES_MIN: usize = 64 << 10;
/// Updates that the base already contains are kept for hosts that missed some, up to the size of the base or up to
/// this, whichever is more.
pub const SHARED_TAIL_BYTES_MIN: usize = 1 << 20;
/// Maximum bytes of a host's own updates of an object that are kept until all others have them. Objects that a host no
/// longer uses and keeps only for this reason may take as much together.
pub const SHARED_UNSTABLE_BYTES_MAX: usize = 64 << 20;
/// Maximum bytes of an object's updates that are kept although earlier ones are missing.
pub const SHARED_EARLY_BYTES_MAX: usize = 4 << 20;
/// Maximum bytes of a runtime's updates of an object that are in transit to the state machine. Guests that update the
/// object meanwhile wait.
pub const SHARED_UNCONFIRMED_BYTES_MAX: usize = 4 << 20;
/// Bytes of a runtime's updates of an object after which the state machine confirms that it has received them. Until
/// then the runtime keeps them.
pub const SHARED_CONFIRMED_BYTES: usize = 16 << 10;
/// Maximum workers whose activity a host reports.
pub const WORKERS_REPORTED_MAX: usize = 256;
/// Maximum bytes of the parameters in a note about a job.
pub const NOTED_PARAMETERS_BYTES_MAX: usize = 4 << 10;
/// Maximum bytes of the parameters in all notes that wait to be sent.
pub const NOTED_PARAMETERS_WAITING_BYTES_MAX: usize = 1 << 20;
/// Maximum hosts that a host may know.
pub const ACQUAINTANCES_MAX: usize = 64 * 1024;
/// Sizes of circles of acquaintances. A host knows all others of its own site, or all hosts of other sites, if these
/// are at most `…_all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circle {
    /// Maximum others in its own site that it knows all of.
    pub near_all: usize,
    /// About how many of a larger site it knows, drawn at random.
    pub near_drawn: usize,
    /// Maximum hosts of other sites that it knows all of.
    pub far_all: usize,
    /// About how many of more hosts it knows, drawn at random.
    pub far_drawn: usize,
    /// Interval at which a host whose circle is drawn gets another acquaintance.
    pub renewed_every: Duration,
}

/// The sizes that a coordinator uses by default.
pub const CIRCLE: Circle = Circle {
    near_all: 256,
    near_drawn: 64,
    far_all: 512,
    far_drawn: 64,
    renewed_every: Duration::from_secs(60),
};
/// Maximum hosts that are gone and have a row of counts of their own, for each run.
pub const GONE_HOSTS_LISTED_MAX: usize = 256;
/// Maximum hosts that are gone whose rows one event may fold into a common one; more follow when further hosts go.
pub const GONE_HOSTS_FOLDED_AT_ONCE_MAX: usize = 8;
/// Maximum hosts without such a row that are known to have been counted, for each run.
pub const GONE_HOSTS_REMEMBERED_MAX: usize = 16 * 1024;
/// Maximum runs that are given to hosts at once; further runs wait their turn.
pub const RUNS_ACTIVE_MAX: usize = 8;

/// Time for which a victim that computes keeps a request while it has no job to give.
pub const PARK: Duration = Duration::from_millis(3);
/// The same for a request from another site, which has travelled for longer.
pub const PARK_WIDE: Duration = Duration::from_millis(25);
/// Time after which a thief no longer waits for a victim's answer before it asks another.
pub const STEAL_SLOW: Duration = Duration::from_millis(50);
/// Time after which a steal request that was not answered is given up.
pub const STEAL_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for which a thief rests after a round of refusals; it doubles after each further round.
pub const STEAL_REST_MIN: Duration = Duration::from_micros(500);
/// The longest rest within a site.
pub const STEAL_REST_MAX: Duration = Duration::from_millis(50);
/// The longest rest between requests to other sites.
pub const STEAL_REST_WIDE_MAX: Duration = Duration::from_millis(200);
/// Interval at which further accusations by one host are passed on.
pub const ACCUSATION_EVERY: Duration = Duration::from_secs(10);
/// Maximum hosts to which one host is introduced at once at its own request; further requests are ignored.
pub const INTRODUCTIONS_AT_ONCE_MAX: u32 = 1024;
/// Interval at which further such introductions are made.
pub const INTRODUCTION_EVERY: Duration = Duration::from_millis(50);
/// Maximum times in a row that a host may pause and work again without waiting in between.
pub const UNPAUSES_AT_ONCE_MAX: u32 = 8;
/// Interval at which it may do so further.
pub const UNPAUSE_EVERY: Duration = Duration::from_secs(5);
/// Interval at which further refusals of unknown parcels are sent to one sender.
pub const REFUSAL_EVERY: Duration = Duration::from_millis(100);
/// Interval at which hosts report to one another which jobs they hold, so that lost messages are noticed.
pub const RECONCILE: Duration = Duration::from_secs(1);
/// Maximum time to which the wait for an answer is doubled before a message is sent again.
pub const REPEAT_MAX: Duration = Duration::from_secs(60);
/// The same for a small message. Copies of it fill no queue, and a link that loses much needs them.
pub const REPEAT_SMALL_MAX: Duration = Duration::from_secs(2);
/// Maximum bytes of a small message.
pub const REPEAT_SMALL_BYTES: usize = 1 << 10;
/// Maximum sent messages that a host remembers because it may send them again; of more, some are sent once too often.
pub const REPEATS_MAX: usize = 64 * 1024;
/// Interval at which finished work is recorded, in milliseconds, unless a run sets another.
pub const RECORD_EVERY_MS: u32 = 250;
/// Minimum processor time of a result that is worth an entry, however often work is recorded.
pub const RECORDED_WORK_MIN: Duration = Duration::from_millis(5);
/// A result is also not worth an entry if it took less than the interval of recordings divided by this: a crash loses
/// more.
pub const RECORDED_PARTS: u32 = 50;
/// Minimum time after which missing bytes of a parcel are asked for again.
pub const PARCEL_PATIENCE_MIN: Duration = Duration::from_secs(1);
/// The longest such time.
pub const PARCEL_PATIENCE_MAX: Duration = Duration::from_secs(8);
/// Time without any bytes after which the receiver of a parcel gives it up.
pub const PARCEL_STALE: Duration = Duration::from_secs(20);
/// Time without any request for bytes after which the sender of a parcel gives it up.
pub const PARCEL_UNWANTED_MAX: Duration = Duration::from_secs(60);
/// Batching delay of entries and notes.
pub const FLUSH: Duration = Duration::from_millis(100);
/// Interval at which a host reports its counts to the coordinator.
pub const COUNTS: Duration = Duration::from_millis(500);
/// Time after which it reports them when a job has ended, so that the figures of a run include its last moments.
pub const COUNTS_SOON: Duration = Duration::from_millis(50);
/// Time after which a run that no host has loaded and some cannot load gives up its turn to the runs that wait.
pub const UNREADY_TURN_MAX: Duration = Duration::from_secs(30);
/// Minimum time for which a run is given to hosts before it gives its place to a submitter that has none.
pub const PLACE_KEPT_MIN: Duration = Duration::from_secs(10);
/// Time for which a run that no host can load waits before it is tried again; longer after each time.
pub const UNREADY_REST_MIN: Duration = Duration::from_secs(10);
/// The longest such time.
pub const UNREADY_REST_MAX: Duration = Duration::from_secs(600);
/// Interval at which a host is notified which hosts came and went, if this changes often.
pub const NEWS: Duration = Duration::from_millis(10);
/// Messages about hosts that came or went that may be sent without that interval between them.
pub const NEWS_AT_ONCE: u32 = 16;
/// Interval at which the coordinator pings hosts.
pub const PING: Duration = Duration::from_secs(1);
/// Time after which a host is given up if its link is open and nothing has come from it.
pub const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Time after which a host is given up if its link has closed. Most such hosts are dead, and the jobs that ran there
/// are not run again before this time. If the host was only cut off, its jobs are adopted.
pub const RECONNECT_GRACE: Duration = Duration::from_millis(300);
/// Time for which a host that was given up may come back under its id; later it gets a new one.
pub const IDENTITY_KEPT: Duration = Duration::from_secs(5);
/// Maximum hosts given up that may come back under their ids.
pub const MISSING_HOSTS_MAX: usize = 64 * 1024;
/// Time that hosts have to send something, or to come back, after the coordinator's driver was held up, before any of
/// them is given up.
pub const LISTEN_AGAIN: Duration = Duration::from_secs(3);
/// Hosts that the coordinator checks for silence in one event; the others follow at once.
pub const SILENCE_CHECKS_MAX: usize = 64;
/// Hosts to which one event of the coordinator sends a message for all; the others follow at once.
pub const BROADCAST_AT_ONCE_MAX: usize = 128;
/// Circles of acquaintances that one event of the coordinator renews; the others follow at once.
pub const RENEWED_AT_ONCE_MAX: usize = 4;
/// Runs that one event of the coordinator checks for a host's part in them; the others follow at once.
pub const RUNS_LOOKED_AT_ONCE_MAX: usize = 16;
/// Hosts that one event of the coordinator asks after a restart what they are still running; the others follow at once.
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
/// Hosts to which one event of the coordinator sends news of others; the others follow at once.
pub const NEWS_AT_A_TIME_MAX: usize = 8;
/// Acquaintances that one event of the coordinator notifies of a host that has come or is gone; the others follow at
/// once.
pub const SHOWN_AT_ONCE_MAX: usize = 16;
/// Maximum hosts that one message introduces to another; the others follow in the next.
pub const JOINED_PER_MESSAGE_MAX: usize = 20;
/// Acquaintances named by a host after a restart that one event of the coordinator notes; the others follow at once.
pub const KNOWN_AT_ONCE_MAX: usize = 32;
/// Searches of a host that one event ends without an answer; the others follow at once.
pub const SEARCHES_ENDED_AT_ONCE_MAX: usize = 64;
/// Time for which a restarted coordinator waits for its hosts before it gives them up.
pub const RESTART_GRACE: Duration = Duration::from_secs(3);
/// Time for which the coordinator waits until all hosts have said which of a crashed host's jobs they hold.
pub const SETTLE_MAX: Duration = Duration::from_millis(500);
/// Time after which the coordinator no longer waits for a host's answer to the news of a departure. A silent host is
/// given up after [`SILENCE_MAX`]; the answer of a host behind a slow link may take as long once more.
pub const DEPARTURE_ANSWER_MAX: Duration = Duration::from_secs(10);
/// Departures for whose answers one event of the coordinator stops waiting; the others follow at once.
pub const DEPARTURES_EXPIRED_AT_ONCE_MAX: usize = 256;
/// Time for which a host waits for the coordinator's entries before it redoes a job without them.
pub const FIND_TIMEOUT: Duration = Duration::from_secs(2);
/// Batching delay of a host's updates of an object, if some were sent just before.
pub const SHARED_FLUSH: Duration = Duration::from_millis(1);
/// Time after which hosts compare their replicas of an object that has changed; it grows while nothing changes.
pub const SHARED_COMPARE_MIN: Duration = Duration::from_millis(250);
/// The longest time between two comparisons.
pub const SHARED_COMPARE_MAX: Duration = Duration::from_secs(4);
/// Minimum interval at which a host asks for missing updates.
pub const SHARED_ASK: Duration = Duration::from_millis(20);
/// Time after which a replica that was asked for and has not come is asked for elsewhere; it grows with each request.
pub const SHARED_FETCH_MIN: Duration = Duration::from_secs(1);
/// Time after which a host that has asked all others for a replica in vain asks again.
pub const SHARED_FETCH_REST: Duration = Duration::from_millis(250);
/// An object that no job of a host mentions is forgotten there after one to two times this time.
pub const SHARED_UNUSED: Duration = Duration::from_secs(5);
/// Time for which others remember that a host that was given up had a replica of an object, as it may only be asleep. A
/// host that comes back later compares its replica with those of all hosts that it gets to know.
pub const SHARED_FORMER_MAX: Duration = Duration::from_secs(600);
/// Number of hosts to which the only host with an object sends it before it leaves.
pub const SHARED_HEIRS: usize = 2;
/// Maximum time after which a replica is asked for elsewhere.
pub const SHARED_FETCH_MAX: Duration = Duration::from_secs(16);
/// Time for which guests may continue with work that is not saved, at a leave, pause or suspension.
pub const FINISHING_MAX: Duration = Duration::from_millis(1500);
/// Time within which guests must come to rest then.
pub const DRAIN_MAX: Duration = Duration::from_millis(2500);
/// Time for which a host that leaves lets others fetch results and replicas, counted from the order to leave.
pub const LEAVE_HAND_OVER_MAX: Duration = Duration::from_millis(3000);
/// Time for which it waits for the answer to its `Leaving`, counted from the order to leave.
pub const LEAVE_MAX: Duration = Duration::from_millis(3500);

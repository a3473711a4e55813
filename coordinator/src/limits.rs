//! Limits of this service. The protocol's limits are in `protocol`, and those that clients of the HTTP API need to know
//! in `api/src/limits.rs`.

use std::time::Duration;

use sateen_protocol::limits::{COUNTS, FRAME_BYTES_MAX, PING};

/// Time after which a host whose reports are missing is not taken to compute: several reports.
pub const SILENT: Duration = COUNTS.saturating_mul(3);
/// The same for a host that computed nothing when it last reported, which only answers pings: several of them.
pub const SILENT_IDLE: Duration = PING.saturating_mul(3);
/// Maximum size of a request's JSON.
pub const JSON_BYTES_MAX: usize = 1 << 20;
/// Maximum words of a run's command line, and their total size.
pub const ARGUMENTS_MAX: usize = 4096;
/// See [`ARGUMENTS_MAX`].
pub const ARGUMENTS_BYTES_MAX: usize = 256 << 10;
/// Maximum named inputs of a run.
pub const INPUTS_MAX: usize = 256;
/// Maximum modules that are read at once: each is in memory then, and keeps a core busy.
pub const MODULES_INSPECTED_MAX: usize = 1;
/// Default maximum disk space for all blobs: modules, inputs, and uploads in progress.
pub const BLOBS_BYTES_MAX: u64 = 64 << 30;
/// One peer may use this fraction of it.
pub const BLOBS_PER_PEER_SHARE: u64 = 8;
/// Default maximum disk space for the arguments and results of all runs that are over.
pub const RESULTS_BYTES_MAX: u64 = 64 << 30;
/// Runs of one peer may use this fraction of it.
pub const RESULTS_PER_PEER_SHARE: u64 = 8;
/// Default maximum number of runs that are kept after their end.
pub const RUNS_KEPT_MAX: u64 = 100_000;
/// Default time for which they are kept.
pub const RUNS_KEPT_FOR: Duration = Duration::from_secs(365 * 86_400);
/// Interval at which runs that need not be kept are deleted.
pub const RETENTION_EVERY: Duration = Duration::from_secs(30);
/// Maximum runs that are deleted in this interval because they ended long ago.
pub const RUNS_AGED_OUT_AT_ONCE_MAX: usize = 64;
/// Default maximum disk space for results that later runs may find.
pub const KEPT_BYTES_MAX: u64 = 1 << 30;
/// Disk space counted for each of them in addition to its entry: for its row and indexes.
pub const KEPT_ROW_BYTES: u64 = 256;
/// Maximum size of a run's own result that is kept for later runs.
pub const KEPT_RESULT_BYTES_MAX: usize = 8 << 20;
/// Maximum size of the results of earlier runs that a run is given.
pub const EARLIER_BYTES_MAX: usize = 16 << 20;
/// Disk space counted for a run that is over in addition to its arguments and its result: for its figures.
pub const RUN_KEPT_BYTES: u64 = 4 << 10;
/// Maximum runs that are looked up and deleted at once because there is no room for them.
pub const RUNS_DROPPED_AT_ONCE_MAX: usize = 64;
/// A result up to this size is kept even without room: the run was accepted.
pub const RESULT_ALWAYS_KEPT_BYTES: u64 = 4 << 10;
/// Bytes of a request's body that are read and dropped after the request was answered,
pub const UNREAD_BYTES_MAX: u64 = 1 << 30;
/// and the maximum time for that.
pub const UNREAD_MAX: Duration = Duration::from_secs(30);
/// Maximum modules published under names; each counts once per name.
pub const PUBLISHED_MAX: usize = 16 * 1024;
/// Of these, modules that one peer published.
pub const PUBLISHED_PER_PEER_MAX: usize = 1024;
/// A blob that no app and no run refers to is kept for this time after it was used, if there is room: runs are
/// submitted after their inputs.
pub const BLOB_KEPT_AT_LEAST: Duration = Duration::from_secs(15 * 60);
/// Size of the pieces in which a blob that is transferred is held in memory.
pub const BLOB_PIECE_BYTES: usize = 256 << 10;

/// Maximum connections that are not websockets.
pub const CONNECTIONS_MAX: usize = 4096;
/// Of those, connections of one peer.
pub const CONNECTIONS_PER_PEER_MAX: usize = 512;
/// Maximum bytes read of a request before it is handled, above all its headers.
pub const HTTP_BUFFER_BYTES_MAX: usize = 32 << 10;
/// Maximum time for a request's headers to arrive. An idle connection is closed after it.
pub const HEADERS_TIMEOUT: Duration = Duration::from_secs(20);
/// Patience with a peer that sends a body or takes an answer too slowly.
pub const READER_PATIENCE: Duration = Duration::from_secs(20);
/// Minimum rate at which a peer takes an answer; a slower peer uses up its patience.
pub const READER_BYTES_PER_SECOND_MIN: u32 = 4 << 10;
/// Minimum rate at which a peer sends a body; a slower peer uses up its patience.
pub const UPLOAD_BYTES_PER_SECOND_MIN: u32 = 16 << 10;
/// Maximum time for which a request waits for its turn.
pub const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum requests that are handled at once; more wait their turn.
pub const REQUESTS_MAX: usize = 64;
/// Of those, requests of one peer.
pub const REQUESTS_PER_PEER_MAX: usize = 16;
/// Maximum request bodies in memory at once, each of at most [`JSON_BYTES_MAX`].
pub const BODIES_MAX: usize = 128;
/// Of those, bodies of one peer.
pub const BODIES_PER_PEER_MAX: usize = 8;
/// A shorter request body is read at once, regardless of other bodies: the limit on connections bounds them.
pub const BODY_SMALL_BYTES: u64 = 16 << 10;
/// Minimum time for which a connection keeps what it was granted, even if others want it.
pub const HELD_AT_LEAST: Duration = Duration::from_secs(2);
/// A connection that moves fewer bytes per second loses what it was granted when others want it.
pub const HELD_BYTES_PER_SECOND_MIN: f64 = 65_536.0;
/// Maximum blobs that are transferred at once, in either direction.
pub const TRANSFERS_MAX: usize = 512;
/// Of those, blobs of one peer.
pub const TRANSFERS_PER_PEER_MAX: usize = 64;
/// Maximum size of answers that are being sent.
pub const RESPONSE_KIB_MAX: usize = 128 << 10;
/// Of those, answers to one peer.
pub const RESPONSE_KIB_PER_PEER_MAX: usize = 32 << 10;
/// Shorter answers are not counted.
pub const RESPONSE_SMALL_BYTES: u64 = 16 << 10;
/// Longer answers are handed to a connection in parts of this size.
pub const RESPONSE_PART_BYTES: usize = 64 << 10;
/// Longer results are sent from a file.
pub const RESULT_SHORT_BYTES: u64 = 1 << 20;

/// Maximum runs that are not over.
pub const RUNS_UNFINISHED_MAX: usize = 2000;
/// Of those, runs that one peer submitted.
pub const RUNS_UNFINISHED_PER_PEER_MAX: usize = 1000;
/// Maximum size of the arguments and inputs of all runs that are not over, as they are saved.
pub const RUNS_UNFINISHED_BYTES_MAX: u64 = 32 << 20;
/// Of these, the arguments and inputs of one peer's runs.
pub const RUNS_UNFINISHED_BYTES_PER_PEER_MAX: u64 = 16 << 20;
/// Unfinished runs that each peer may submit even when other peers' runs have reached the maximum.
pub const RUNS_UNFINISHED_RESERVED: usize = 8;
/// See [`RUNS_UNFINISHED_RESERVED`]: the size of their arguments and inputs.
pub const RUNS_UNFINISHED_RESERVED_BYTES: u64 = 32 << 10;
/// Maximum size of a run's arguments in a list; `GET /api/v1/runs/{run}` has all of them.
pub const ARGUMENTS_LISTED_BYTES_MAX: usize = 1024;
/// Maximum size of the descriptions of apps in one answer, newest first.
pub const APPS_LISTED_BYTES_MAX: usize = 8 << 20;
/// Time for which the driver does pending work before it looks at hosts' messages again.
pub const SLICES_FOR: Duration = Duration::from_millis(10);
/// Maximum keys of hosts that are remembered. Keys about which the operator has decided are not forgotten.
pub const KEYS_MAX: usize = 2 * LINKS_MAX;
/// Keys that are forgotten at once when there are too many.
pub const KEYS_FORGOTTEN: usize = KEYS_MAX / 16;
/// Maximum keys that wait for the operator's approval.
pub const KEYS_WAITING_MAX: usize = 4096;
/// The same for the hosts of one address.
pub const KEYS_WAITING_PER_PEER_MAX: usize = 256;
/// Minimum digits with which a command names a key.
pub const KEY_DIGITS_MIN: usize = 8;
/// How often keys of hosts that were seen are saved.
pub const SAVE_KEYS_EVERY: Duration = Duration::from_secs(1);
/// Maximum hosts in one answer.
pub const HOSTS_LISTED_MAX: usize = 1000;
/// Maximum runs that are looked at for one answer, if only some are wanted.
pub const RUNS_SCANNED_MAX: usize = 20_000;
/// See [`RUNS_SCANNED_MAX`]: the size of the arguments and inputs of these runs.
pub const RUNS_SCANNED_BYTES_MAX: usize = 16 << 20;
/// Maximum traces that are sent at once: each keeps 12 bytes per job.
pub const TRACES_MAX: usize = 8;
/// Of those, traces of one peer.
pub const TRACES_PER_PEER_MAX: usize = 2;
/// Maximum requests that wait for a run's end.
pub const WAITS_MAX: usize = 2048;
/// Of these, requests of one peer; the oldest are answered when others want to wait.
pub const WAITS_PER_PEER_MAX: usize = 256;
/// Minimum time for which a request waits for a run's end, even if others want to wait. It limits how often clients
/// that ask again at once are answered when there are more of them than may wait.
pub const WAIT_AT_LEAST: Duration = Duration::from_millis(500);
/// Maximum time for which a request waits for a run's end.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Of these, websockets from one peer: whole sites are behind one address.
pub const LINKS_PER_PEER_MAX: usize = 4096;
/// Maximum websockets of hosts that have not said hello.
pub const LINKS_UNKNOWN_MAX: usize = 1024;
/// Of those, websockets from one peer.
pub const LINKS_UNKNOWN_PER_PEER_MAX: usize = 256;
/// Maximum size of the first frame of a link: its hello, and little else.
pub const HELLO_FRAME_BYTES_MAX: usize = 8 << 10;
/// Maximum bytes read of a link until its hello was understood: the hello, and what comes with the same read.
pub const HELLO_READ_BYTES_MAX: u32 = 64 << 10;
/// Maximum memory of messages of all links that wait for the state machine, or are being decoded; reading stops
/// meanwhile.
pub const INBOX_BYTES_MAX: usize = 64 << 20;
/// Maximum memory of incomplete messages of all links; beyond, the link with the most is cut off.
pub const FRAGMENTS_BYTES_MAX: usize = 32 << 20;
/// Maximum bytes of incomplete frames on all links; beyond, a link of the peer that has the most is cut off.
pub const BEGUN_BYTES_MAX: usize = 192 << 20;
/// Of these, bytes of one peer: hundreds of hosts behind one address may be sending long frames at once.
pub const BEGUN_BYTES_PER_PEER_MAX: usize = 48 << 20;
/// Maximum time for a whole frame to arrive: some 2 KiB a second for the longest.
pub const FRAME_TIME_MAX: Duration = Duration::from_secs(120);
/// Maximum bytes queued on all links; beyond, the queued messages of the largest senders are dropped, or the link is
/// cut off that takes the least of the coordinator's own messages.
pub const LINKS_QUEUED_BYTES_MAX: usize = 256 << 20;
/// Maximum websockets of hosts, if the system allows as many open files.
pub const LINKS_MAX: usize = 120_000;
/// Open files reserved for other purposes than websockets of hosts: the store, dashboards, requests.
pub const DESCRIPTORS_KEPT: usize = 2048;
/// Maximum time until a link has said hello and was answered.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of the coordinator's own messages queued for one host.
pub const LINK_QUEUE_BYTES_MAX: usize = 48 << 20;
/// See [`LINK_QUEUE_BYTES_MAX`]: the number of messages.
pub const LINK_QUEUE_MESSAGES_MAX: usize = 100_000;
/// Maximum bytes that other hosts have queued for one host besides chunks of parcels; beyond, messages of the senders
/// with the most are dropped.
pub const LINK_RELAYED_BYTES_MAX: usize = 40 << 20;
/// See [`LINK_RELAYED_BYTES_MAX`]: the number of messages.
pub const LINK_RELAYED_MESSAGES_MAX: usize = 80_000;
/// Of these, bytes of one other host; a host that sends more is cut off.
pub const LINK_QUEUE_BYTES_PER_SENDER_MAX: usize = 16 << 20;
/// See [`LINK_QUEUE_BYTES_PER_SENDER_MAX`]: the number of messages.
pub const LINK_QUEUE_MESSAGES_PER_SENDER_MAX: usize = 20_000;
/// Maximum bytes of chunks of parcels queued for one host; further chunks are dropped, and requested again.
pub const LINK_BULK_BYTES_MAX: usize = 32 << 20;
/// Of these, bytes of one other host: more than a receiver ever requests at once.
pub const LINK_BULK_BYTES_PER_SENDER_MAX: usize = 4 << 20;
/// Maximum bytes of chunks of parcels handed to the socket at once, so that other messages overtake the rest.
pub const WRITE_BULK_BATCH_BYTES: usize = 32 << 10;
/// Maximum unsent bytes in the system's buffer for a host: messages cannot overtake these.
pub const SEND_BUFFER_BYTES: usize = 256 << 10;
/// Maximum bytes that are encoded and handed to the socket at once.
pub const WRITE_BATCH_BYTES: usize = FRAME_BYTES_MAX;
/// Time after which a host that reads none of its messages is cut off.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum frames of one link that wait for the state machine; the link is not read meanwhile.
pub const FRAMES_WAITING_PER_LINK_MAX: usize = 8;
/// Maximum messages of one link to the state machine per second. A busy host sends about ten.
pub const MESSAGES_PER_SECOND_MAX: u32 = 20_000;
/// Size of a websocket's read buffer: most frames are small, and there may be thousands of links.
pub const READ_BUFFER_BYTES: usize = 16 << 10;
/// See [`READ_BUFFER_BYTES`].
pub const WRITE_BUFFER_BYTES: usize = 64 << 10;

/// Maximum requests that wait for the driver.
pub const REQUESTS_WAITING_MAX: usize = 1024;
/// Maximum nodes of one run's tree: 48 bytes each, about ten for finding them, and once it is full about ten for
/// finding those that may be rolled up.
pub const TREE_NODES_MAX: usize = 1_000_000;
/// Of these, nodes in a tree's JSON.
pub const TREE_NODES_IN_JSON_MAX: usize = 10_000;
/// Maximum hosts of one run's tree.
pub const TREE_HOSTS_MAX: usize = 65_536;
/// Maximum nodes of one run whose parents are not known yet; further ones never get a parent.
pub const TREE_UNKNOWN_PARENTS_MAX: usize = 65_536;
/// Maximum jobs without room whose place of counting is remembered: one that begins again is not counted twice.
pub const TREE_ROLLED_REMEMBERED_MAX: usize = 65_536;
/// Maximum children of one job that are listed.
pub const CHILDREN_SHOWN_MAX: usize = 100;
/// Maximum depths that are listed.
pub const DEPTHS_SHOWN_MAX: usize = 256;
/// Maximum jobs of a critical path that are listed.
pub const CRITICAL_PATH_MAX: usize = 256;
/// Maximum events of one run.
pub const RUN_EVENTS_MAX: usize = 500;
/// Maximum idle periods of one run.
pub const IDLE_REASONS_MAX: usize = 200;
/// Maximum points in the series of one run.
pub const SERIES_POINTS_MAX: usize = 600;
/// Maximum stretches in the timeline of one run.
pub const TIMELINE_BUCKETS_MAX: usize = 600;
/// Maximum workers in the timeline of one run.
pub const TIMELINE_WORKERS_MAX: usize = 1024;
/// Maximum size of the parameters of all jobs of one run's tree, kept for running jobs again.
pub const TREE_PARAMETERS_BYTES_MAX: usize = 16 << 20;
/// Maximum lines of one run's log, and their total size.
pub const LOG_LINES_MAX: usize = 10_000;
/// See [`LOG_LINES_MAX`].
pub const LOG_BYTES_MAX: usize = 4 << 20;
/// Default maximum of finished runs whose tree and log are kept.
pub const TREES_KEPT: usize = 32;
/// Maximum nodes of all their trees; the oldest tree goes first.
pub const NODES_OF_ENDED_RUNS_MAX: usize = 2_000_000;
/// Maximum departed hosts whose names are still known, in addition to connected ones.
pub const HOST_NAMES_MAX: usize = 65_536;
/// Maximum departed hosts whose counts of runs that have ended are still known: if one was given up too early, it keeps
/// them.
pub const GONE_HOSTS_SERVED_MAX: usize = 1024;

/// Maximum pages that watch at once.
pub const WATCHERS_MAX: usize = 1000;
/// Of those, pages of one peer.
pub const WATCHERS_PER_PEER_MAX: usize = 100;
/// Maximum topics that are watched at once, by any number of pages.
pub const FEEDS_MAX: usize = 1024;
/// Of these, topics first watched by pages of one peer.
pub const FEEDS_PER_PEER_MAX: usize = 128;
/// Up to this size of a tree, pages are sent each new host at once; beyond, new hosts are sent together at an interval.
pub const TREE_HOSTS_TOLD_AT_ONCE_MAX: usize = 1024;
/// See [`TREE_HOSTS_TOLD_AT_ONCE_MAX`].
pub const TREE_HOSTS_TOLD_EVERY: Duration = Duration::from_secs(10);
/// Maximum topics that one page watches.
pub const TOPICS_MAX: usize = 8;
/// Maximum size of a page's message.
pub const WATCH_MESSAGE_BYTES_MAX: usize = 4096;
/// Maximum messages of one page per second.
pub const WATCH_MESSAGES_PER_SECOND_MAX: u32 = 20;
/// Interval at which pages are sent news.
pub const WATCH_TICK: Duration = Duration::from_millis(250);
/// Delay after the tick: by then the news of all that a page watches are known, and sent together.
pub const WATCH_TOLD_AFTER: Duration = Duration::from_millis(20);
/// Time after which a page that reads none of its messages is cut off.
pub const WATCH_WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum ticks that a slow page may be behind with a tree. More than fit into the time above.
pub const WATCH_TICKS_KEPT: usize = 64;
/// Size of the fragments in which messages are handed to pages' sockets; no more than that is kept of a message once it
/// was sent.
pub const WATCH_FRAGMENT_BYTES: usize = 16 << 10;
/// Values are sent to pages in messages of about this size at first, each twice as long as the one before
/// that was taken,
pub const WATCH_PART_BYTES: usize = 48 << 10;
/// up to this size.
pub const WATCH_PART_BYTES_MAX: usize = 1 << 20;
/// Shorter messages to pages are not counted: at most two of each page's have not been taken.
pub const WATCH_SMALL_BYTES: usize = 64 << 10;
/// Maximum size of longer messages that pages have not taken yet.
pub const PAGE_KIB_MAX: usize = 64 << 10;
/// Of those, messages to pages of one peer.
pub const PAGE_KIB_PER_PEER_MAX: usize = 8 << 10;
/// Maximum hosts without a connection that have an alert of their own; the others are only counted.
pub const HOST_ALERTS_MAX: usize = 100;
/// Interval at which pages are pinged,
pub const WATCH_PING: Duration = Duration::from_secs(15);
/// and at which they are notified that there is nothing new.
pub const WATCH_ALIVE: Duration = Duration::from_secs(10);
/// Maximum records in one frame of a tree.
pub const TREE_RECORDS_PER_FRAME_MAX: usize = 16_384;
/// Maximum runs in the topic of the grid.
pub const RUNS_WATCHED_MAX: u32 = 100;

/// Interval at which entries are saved in batches.
pub const SAVE_ENTRIES_EVERY: Duration = Duration::from_millis(200);
/// Maximum entries that wait to be saved; further ones are not saved, which only costs work after a crash.
pub const UNSAVED_ENTRIES_MAX: usize = 100_000;
/// Interval of the periodic work for each run and each host, a part at a time.
pub const PART_EVERY: Duration = Duration::from_millis(50);
/// Interval at which standings of runs, and what is new in their trees and logs, are saved in batches.
pub const SAVE_CHRONICLES_EVERY: Duration = Duration::from_millis(500);
/// Maximum jobs of one such batch.
pub const SAVED_JOBS_MAX: usize = 10_000;
/// Maximum changes of runs that are handed to the store together.
pub const CHANGES_AT_ONCE_MAX: usize = 64;
/// Interval at which failed saves are tried again.
pub const SAVE_AGAIN_EVERY: Duration = Duration::from_secs(1);
/// Maximum pieces of work that wait for a connection to the store.
pub const STORE_QUEUE_MAX: usize = 256;
/// Maximum time for open requests to finish when the service stops.
pub const STOP_MAX: Duration = Duration::from_secs(3);

/// Maximum tokens, including those that have expired or were revoked; the oldest of these are forgotten first.
pub const TOKENS_MAX: usize = 100_000;
/// Maximum length of a token's name, in bytes.
pub const TOKEN_NAME_BYTES_MAX: usize = 64;
/// Minimum time between two saves of when a token was last used.
pub const TOKEN_USED_EVERY: Duration = Duration::from_secs(60);
/// Time for which such saves are collected: after a restart, all hosts use their tokens at once.
pub const TOKEN_USED_SAVE_AFTER: Duration = Duration::from_secs(1);
/// Time for which the dashboard stays logged in.
pub const SESSION_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum browsers that are logged in; the oldest is logged out first.
pub const SESSIONS_MAX: usize = 10_000;
/// Invalid tokens that one peer may present in a row before it has to wait,
pub const BAD_TOKENS_MAX: u32 = 20;
/// and the time after which it may present one more.
pub const BAD_TOKEN_EVERY: Duration = Duration::from_secs(3);
/// Maximum peers whose invalid tokens are counted.
pub const BAD_TOKEN_PEERS_MAX: usize = 8192;
/// Lines of the audit log about what was done that are kept.
pub const AUDIT_KEPT_MAX: usize = 50_000;
/// Lines of the audit log about refused requests that are kept.
pub const AUDIT_REFUSALS_KEPT_MAX: usize = 10_000;
/// Maximum lines that wait to be saved; further ones are lost, which the log of the service says.
pub const AUDIT_WAITING_MAX: usize = 4096;
/// Interval at which lines of the audit log are saved in batches.
pub const AUDIT_SAVE_EVERY: Duration = Duration::from_millis(200);
/// Interval at which the files of the TLS certificate are looked at.
pub const CERTIFICATE_LOOK_EVERY: Duration = Duration::from_secs(2);
/// Maximum time until a trusted proxy has named its client,
pub const PROXY_HEADER_MAX: Duration = Duration::from_secs(5);
/// and the maximum size of what it says.
pub const PROXY_HEADER_BYTES_MAX: usize = 2048;
/// Maximum time for a TLS handshake.
pub const TLS_HANDSHAKE_MAX: Duration = Duration::from_secs(10);

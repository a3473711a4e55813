//! Limits of this service. Those of the protocol are in `protocol`, and those that clients of the HTTP API need to know in
//! `api/src/limits.rs`.

use std::time::Duration;

use sateen_protocol::limits::FRAME_BYTES_MAX;

/// A request's JSON.
pub const JSON_BYTES_MAX: usize = 1 << 20;
/// Words of a run's command line, and their bytes in all.
pub const ARGUMENTS_MAX: usize = 4096;
/// See [`ARGUMENTS_MAX`].
pub const ARGUMENTS_BYTES_MAX: usize = 256 << 10;
/// Named inputs of a run.
pub const INPUTS_MAX: usize = 256;
/// The name of an input.
pub const INPUT_NAME_BYTES_MAX: usize = 256;
/// An app's name.
pub const APP_NAME_BYTES_MAX: usize = 64;
/// Modules that are read at once: each is in memory then, and keeps a core busy.
pub const MODULES_INSPECTED_MAX: usize = 1;
/// What all blobs may take on the disk if nothing else is said: modules, inputs, and what is on its way.
pub const BLOBS_BYTES_MAX: u64 = 64 << 30;
/// One peer may have this part of it.
pub const BLOBS_PER_PEER_SHARE: u64 = 8;
/// What the results of all runs that are over may take on the disk if nothing else is said.
pub const RESULTS_BYTES_MAX: u64 = 64 << 30;
/// Runs of one peer may have this part of it.
pub const RESULTS_PER_PEER_SHARE: u64 = 8;
/// What is counted for a run that is over besides its result: its arguments and figures.
pub const RUN_KEPT_BYTES: u64 = 4 << 10;
/// A result of at most this is kept although there is no room: the run was accepted.
pub const RESULT_ALWAYS_KEPT_BYTES: u64 = 4 << 10;
/// Modules that are published under names, each as often as it has names.
pub const PUBLISHED_MAX: usize = 16 * 1024;
/// Of those, modules that one peer published.
pub const PUBLISHED_PER_PEER_MAX: usize = 1024;
/// A blob that no app and no run refers to is kept for so long after it was used, if there is room: runs are submitted
/// after their inputs.
pub const BLOB_KEPT_AT_LEAST: Duration = Duration::from_secs(15 * 60);
/// A blob on its way is held in memory in pieces of this size.
pub const BLOB_PIECE_BYTES: usize = 256 << 10;

/// Connections that are not websockets.
pub const CONNECTIONS_MAX: usize = 4096;
/// Of those, connections of one peer.
pub const CONNECTIONS_PER_PEER_MAX: usize = 512;
/// What is read of a request before it is handled, above all its headers.
pub const HTTP_BUFFER_BYTES_MAX: usize = 32 << 10;
/// Maximum time for a request's headers to arrive. An idle connection is closed after it.
pub const HEADERS_TIMEOUT: Duration = Duration::from_secs(20);
/// Patience with a peer that sends a body or takes an answer too slowly.
pub const READER_PATIENCE: Duration = Duration::from_secs(20);
/// A peer that takes less than this of an answer uses its patience up.
pub const READER_BYTES_PER_SECOND_MIN: u32 = 4 << 10;
/// A peer that sends less than this of a body uses its patience up.
pub const UPLOAD_BYTES_PER_SECOND_MIN: u32 = 16 << 10;
/// Maximum time for which a request waits for its turn.
pub const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// Requests that are worked on at once; more wait their turn.
pub const REQUESTS_MAX: usize = 64;
/// Of those, requests of one peer.
pub const REQUESTS_PER_PEER_MAX: usize = 16;
/// Request bodies in memory at once, each of at most [`JSON_BYTES_MAX`].
pub const BODIES_MAX: usize = 128;
/// Of those, bodies of one peer.
pub const BODIES_PER_PEER_MAX: usize = 8;
/// A shorter body of a request is read at once, however many others are on their way: connections bound them.
pub const BODY_SMALL_BYTES: u64 = 16 << 10;
/// Minimum time for which a connection has what it was granted, whoever else wants it.
pub const HELD_AT_LEAST: Duration = Duration::from_secs(2);
/// A connection that moves less loses what it was granted when others want it.
pub const HELD_BYTES_PER_SECOND_MIN: f64 = 65_536.0;
/// Blobs on their way in or out at once.
pub const TRANSFERS_MAX: usize = 512;
/// Of those, blobs of one peer.
pub const TRANSFERS_PER_PEER_MAX: usize = 64;
/// Answers that are being sent.
pub const RESPONSE_KIB_MAX: usize = 128 << 10;
/// Of those, answers to one peer.
pub const RESPONSE_KIB_PER_PEER_MAX: usize = 32 << 10;
/// Shorter answers are not counted.
pub const RESPONSE_SMALL_BYTES: u64 = 16 << 10;
/// Longer answers are handed to a connection in parts of this size.
pub const RESPONSE_PART_BYTES: usize = 64 << 10;
/// Results beyond this are sent from a file.
pub const RESULT_SHORT_BYTES: u64 = 1 << 20;

/// Runs that are not over.
pub const RUNS_UNFINISHED_MAX: usize = 2000;
/// Of those, runs that one peer submitted.
pub const RUNS_UNFINISHED_PER_PEER_MAX: usize = 1000;
/// Arguments and inputs of all runs that are not over, as they are saved.
pub const RUNS_UNFINISHED_BYTES_MAX: u64 = 32 << 20;
/// Of those, what one peer submitted.
pub const RUNS_UNFINISHED_BYTES_PER_PEER_MAX: u64 = 16 << 20;
/// Runs that are not over of one peer that may be submitted even if all others have all that there may be.
pub const RUNS_UNFINISHED_RESERVED: usize = 8;
/// See [`RUNS_UNFINISHED_RESERVED`]: their arguments and inputs.
pub const RUNS_UNFINISHED_RESERVED_BYTES: u64 = 32 << 10;
/// Arguments of a run in a list; `GET /api/v1/runs/{run}` has all of them.
pub const ARGUMENTS_LISTED_BYTES_MAX: usize = 1024;
/// Apps in one answer: descriptions of at most so many bytes, newest first.
pub const APPS_LISTED_BYTES_MAX: usize = 8 << 20;
/// Time for which the driver does what is due before it looks again at what hosts say.
pub const SLICES_FOR: Duration = Duration::from_millis(10);
/// Hosts in one answer.
pub const HOSTS_LISTED_MAX: usize = 1000;
/// Runs that are looked at for one answer, if only some are wanted.
pub const RUNS_SCANNED_MAX: usize = 20_000;
/// See [`RUNS_SCANNED_MAX`]: arguments and inputs of these runs.
pub const RUNS_SCANNED_BYTES_MAX: usize = 16 << 20;
/// Traces on their way out at once: each keeps 12 bytes a job.
pub const TRACES_MAX: usize = 8;
/// Of those, traces of one peer.
pub const TRACES_PER_PEER_MAX: usize = 2;
/// Requests that wait for a run's end.
pub const WAITS_MAX: usize = 2048;
/// Of those, requests of one peer; the oldest are answered when others want to wait.
pub const WAITS_PER_PEER_MAX: usize = 256;
/// Minimum time for which a request waits for a run's end, whoever else wants to. Those that ask again at once, more
/// than may wait, are answered this often.
pub const WAIT_AT_LEAST: Duration = Duration::from_millis(500);
/// The longest that a request may wait for a run's end.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Of those, websockets from one peer: whole sites are behind one address.
pub const LINKS_PER_PEER_MAX: usize = 4096;
/// Websockets of hosts that have not said hello.
pub const LINKS_UNKNOWN_MAX: usize = 1024;
/// Of those, websockets from one peer.
pub const LINKS_UNKNOWN_PER_PEER_MAX: usize = 256;
/// The first frame of a link: its hello, and little else.
pub const HELLO_FRAME_BYTES_MAX: usize = 8 << 10;
/// What is read of a link until its hello was understood: the hello, and what a read takes along.
pub const HELLO_READ_BYTES_MAX: u32 = 64 << 10;
/// Memory of messages of all links that wait for the state machine, or are being decoded, while nobody reads on.
pub const INBOX_BYTES_MAX: usize = 64 << 20;
/// Memory of messages of all links whose last fragments have not come; beyond, the link with the most is cut off.
pub const FRAGMENTS_BYTES_MAX: usize = 32 << 20;
/// What there is of frames that are not whole, on all links; beyond, one of the peer that has the most is cut off.
pub const BEGUN_BYTES_MAX: usize = 192 << 20;
/// Of that, those of one peer: hundreds of hosts behind one address may be at long frames at once.
pub const BEGUN_BYTES_PER_PEER_MAX: usize = 48 << 20;
/// A frame comes whole within this time, which is some 2 KiB a second for the longest.
pub const FRAME_TIME_MAX: Duration = Duration::from_secs(120);
/// What waits to be sent on all links; beyond, what the largest senders have waiting is thrown away, or the link is cut
/// off that takes the least of what the coordinator itself has to tell it.
pub const LINKS_QUEUED_BYTES_MAX: usize = 256 << 20;
/// Maximum websockets of hosts, if the system allows as many open files.
pub const LINKS_MAX: usize = 120_000;
/// Open files that are not for websockets of hosts: the store, dashboards, requests.
pub const DESCRIPTORS_KEPT: usize = 2048;
/// A link must have said hello, and have been answered, within this time.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// What the coordinator itself has to send to one host.
pub const LINK_QUEUE_BYTES_MAX: usize = 48 << 20;
/// See [`LINK_QUEUE_BYTES_MAX`]: messages.
pub const LINK_QUEUE_MESSAGES_MAX: usize = 100_000;
/// What other hosts may have waiting for one host besides chunks of parcels; what is beyond is thrown away at the
/// expense of those that have the most.
pub const LINK_RELAYED_BYTES_MAX: usize = 40 << 20;
/// See [`LINK_RELAYED_BYTES_MAX`]: messages.
pub const LINK_RELAYED_MESSAGES_MAX: usize = 80_000;
/// Of that, what one other host may have waiting; one that sends more is cut off.
pub const LINK_QUEUE_BYTES_PER_SENDER_MAX: usize = 16 << 20;
/// See [`LINK_QUEUE_BYTES_PER_SENDER_MAX`]: messages.
pub const LINK_QUEUE_MESSAGES_PER_SENDER_MAX: usize = 20_000;
/// Chunks of parcels that wait to be sent to one host; what comes beyond is dropped, and asked for again.
pub const LINK_BULK_BYTES_MAX: usize = 32 << 20;
/// Of that, what one other host may have waiting: more than a receiver ever asks for at once.
pub const LINK_BULK_BYTES_PER_SENDER_MAX: usize = 4 << 20;
/// Chunks of parcels are handed to the socket by so many bytes, so that other messages overtake the rest.
pub const WRITE_BULK_BATCH_BYTES: usize = 32 << 10;
/// What the system may keep of what was written to a host. What it has, nothing overtakes.
pub const SEND_BUFFER_BYTES: usize = 256 << 10;
/// So much is encoded and handed to the socket at once.
pub const WRITE_BATCH_BYTES: usize = FRAME_BYTES_MAX;
/// A host that takes none of what it is sent for so long is cut off.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// Frames of one link that wait for the state machine; the link is not read on meanwhile.
pub const FRAMES_WAITING_PER_LINK_MAX: usize = 8;
/// Messages of one link to the state machine in a second. A busy host sends about ten.
pub const MESSAGES_PER_SECOND_MAX: u32 = 20_000;
/// Of a websocket's read buffer: most frames are small, and there may be thousands of links.
pub const READ_BUFFER_BYTES: usize = 16 << 10;
/// See [`READ_BUFFER_BYTES`].
pub const WRITE_BUFFER_BYTES: usize = 64 << 10;

/// Requests that wait for the driver.
pub const REQUESTS_WAITING_MAX: usize = 1024;
/// Nodes of one run's tree: 48 bytes each, about ten for finding them, and once it is full about ten for finding
/// those that may go.
pub const TREE_NODES_MAX: usize = 1_000_000;
/// Of those, what the JSON of a tree has.
pub const TREE_NODES_IN_JSON_MAX: usize = 10_000;
/// Hosts of one run's tree.
pub const TREE_HOSTS_MAX: usize = 65_536;
/// Nodes of one run whose parents are not known yet; beyond, they stay without.
pub const TREE_UNKNOWN_PARENTS_MAX: usize = 65_536;
/// Jobs without room of which it is still known where they count: one that begins again is not counted twice.
pub const TREE_ROLLED_REMEMBERED_MAX: usize = 65_536;
/// Children of one job that are listed.
pub const CHILDREN_SHOWN_MAX: usize = 100;
/// Depths that are listed.
pub const DEPTHS_SHOWN_MAX: usize = 256;
/// Jobs of a critical path that are listed.
pub const CRITICAL_PATH_MAX: usize = 256;
/// Events of one run.
pub const RUN_EVENTS_MAX: usize = 500;
/// Reasons for which nothing was done, of one run.
pub const IDLE_REASONS_MAX: usize = 200;
/// Points of the series of one run.
pub const SERIES_POINTS_MAX: usize = 600;
/// Stretches of the timeline of one run.
pub const TIMELINE_BUCKETS_MAX: usize = 600;
/// Workers of the timeline of one run.
pub const TIMELINE_WORKERS_MAX: usize = 1024;
/// The parameters of all jobs of one run's tree, for those who run one of them again.
pub const TREE_PARAMETERS_BYTES_MAX: usize = 16 << 20;
/// Lines of one run's log, and their bytes.
pub const LOG_LINES_MAX: usize = 10_000;
/// See [`LOG_LINES_MAX`].
pub const LOG_BYTES_MAX: usize = 4 << 20;
/// Runs that are over and whose tree and log are still kept, unless the operator says otherwise.
pub const TREES_KEPT: usize = 32;
/// Nodes of all their trees; the oldest goes first.
pub const NODES_OF_ENDED_RUNS_MAX: usize = 2_000_000;
/// Hosts that are gone and whose names are still known, beside those that are there.
pub const HOST_NAMES_MAX: usize = 65_536;

/// Pages that watch at once.
pub const WATCHERS_MAX: usize = 1000;
/// Of those, pages of one peer.
pub const WATCHERS_PER_PEER_MAX: usize = 100;
/// Topics that are watched at once, by however many pages.
pub const FEEDS_MAX: usize = 1024;
/// Of those, topics that pages of one peer were the first to watch.
pub const FEEDS_PER_PEER_MAX: usize = 128;
/// Hosts of a tree of which pages are told whenever one comes; more are told all together, so often.
pub const TREE_HOSTS_TOLD_AT_ONCE_MAX: usize = 1024;
/// See [`TREE_HOSTS_TOLD_AT_ONCE_MAX`].
pub const TREE_HOSTS_TOLD_EVERY: Duration = Duration::from_secs(10);
/// Topics that one page watches.
pub const TOPICS_MAX: usize = 8;
/// A page's message.
pub const WATCH_MESSAGE_BYTES_MAX: usize = 4096;
/// Messages of one page in a second.
pub const WATCH_MESSAGES_PER_SECOND_MAX: u32 = 20;
/// How often pages are told what is new.
pub const WATCH_TICK: Duration = Duration::from_millis(250);
/// So long after the tick: what is new of all that a page watches is known by then, and told together.
pub const WATCH_TOLD_AFTER: Duration = Duration::from_millis(20);
/// A page that takes none of what it is sent for so long is cut off.
pub const WATCH_WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Ticks that a slow page may be behind with a tree. More than fit into the time above.
pub const WATCH_TICKS_KEPT: usize = 64;
/// Messages to pages are handed to their sockets in fragments of this size, which is all that is kept of a message once it
/// was sent.
pub const WATCH_FRAGMENT_BYTES: usize = 16 << 10;
/// Values of which pages are told are divided into messages of about this size, each twice as long as the one before
/// that was taken,
pub const WATCH_PART_BYTES: usize = 48 << 10;
/// up to this size.
pub const WATCH_PART_BYTES_MAX: usize = 1 << 20;
/// Shorter messages to pages are not counted: a page has at most two that it has not taken.
pub const WATCH_SMALL_BYTES: usize = 64 << 10;
/// Longer messages that pages have not taken yet.
pub const PAGE_KIB_MAX: usize = 64 << 10;
/// Of those, messages to pages of one peer.
pub const PAGE_KIB_PER_PEER_MAX: usize = 8 << 10;
/// Hosts that are not connected, each with an alert of its own; of the rest the number is given.
pub const HOST_ALERTS_MAX: usize = 100;
/// Pages are pinged so often,
pub const WATCH_PING: Duration = Duration::from_secs(15);
/// and told that there is nothing new, so often.
pub const WATCH_ALIVE: Duration = Duration::from_secs(10);
/// Records of one frame of a tree.
pub const TREE_RECORDS_PER_FRAME_MAX: usize = 16_384;
/// Runs in the topic of the grid.
pub const RUNS_WATCHED_MAX: u32 = 100;

/// Entries are saved in batches, so often.
pub const SAVE_ENTRIES_EVERY: Duration = Duration::from_millis(200);
/// What waits to be saved of them; what comes beyond is not saved, which costs work after a crash only.
pub const UNSAVED_ENTRIES_MAX: usize = 100_000;
/// A part of what is done for each run and each host is done so often.
pub const PART_EVERY: Duration = Duration::from_millis(50);
/// How runs stand, and what is new in their trees and logs, is saved in batches, so often.
pub const SAVE_CHRONICLES_EVERY: Duration = Duration::from_millis(500);
/// The jobs of one such batch.
pub const SAVED_JOBS_MAX: usize = 10_000;
/// Changes of runs that are handed to the store together.
pub const CHANGES_AT_ONCE_MAX: usize = 64;
/// What could not be saved is tried again so often.
pub const SAVE_AGAIN_EVERY: Duration = Duration::from_secs(1);
/// Work that waits for a connection to the store.
pub const STORE_QUEUE_MAX: usize = 256;
/// Open requests have so long to end when the service stops.
pub const STOP_MAX: Duration = Duration::from_secs(3);

//! The process of the forged peers: one thread, with a lower priority than the others.

use std::io::{Error, ErrorKind, Result as IoResult};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use sateen_protocol::{BlobHash, Random};
use serde::{Deserialize, Serialize};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, timeout_at};

/// The hidden command that runs this binary as the attackers.
pub const COMMAND: &str = "attackers";
/// Number of forged peers.
pub const PEERS: usize = 1000;
/// Real attackers have machines of their own; here they share the hosts' cores, with a lower priority.
const NICE: i32 = 10;
/// Maximum pause of a peer after an attack.
const REST_MAX_MS: usize = 2000;
/// Maximum duration of an attack.
const ATTACK_MAX: Duration = Duration::from_secs(20);

/// An attack, and its relative frequency.
const ATTACKS: [(Attack, usize); 35] = [
    (Attack::FloodHellos, 4),
    (Attack::SayNoHello, 4),
    (Attack::HostileName, 3),
    (Attack::EmptyStrings, 3),
    (Attack::EndlessFragments, 3),
    (Attack::HalfAFrame, 8),
    (Attack::Find, 4),
    (Attack::ReadNothing, 3),
    (Attack::ForgeRoots, 4),
    (Attack::FailRuns, 4),
    (Attack::Accuse, 4),
    (Attack::Parcels, 3),
    (Attack::Rubbish, 4),
    (Attack::EndlessHeaders, 4),
    (Attack::EndlessBodies, 4),
    (Attack::UploadBytes, 4),
    (Attack::ReadNoBlob, 4),
    (Attack::Newlines, 1),
    (Attack::ControlCharacters, 2),
    (Attack::StealNames, 3),
    (Attack::RebindNames, 4),
    (Attack::WatchBlindly, 4),
    (Attack::Direct, 9),
    (Attack::FloodLogs, 3),
    (Attack::LongPauses, 3),
    (Attack::ForgeEntries, 3),
    (Attack::ForgeCounts, 3),
    (Attack::FloodHosts, 2),
    (Attack::FloodWants, 3),
    (Attack::FloodReplicas, 3),
    (Attack::LongArguments, 1),
    (Attack::CompileBomb, 1),
    (Attack::HoardWaits, 3),
    (Attack::SlowUpload, 2),
    (Attack::WatchRuns, 2),
];

#[derive(Debug, Clone, Copy)]
enum Attack {
    FloodHellos,
    SayNoHello,
    HostileName,
    EmptyStrings,
    EndlessFragments,
    HalfAFrame,
    Find,
    ReadNothing,
    ForgeRoots,
    FailRuns,
    Accuse,
    Parcels,
    Rubbish,
    EndlessHeaders,
    EndlessBodies,
    UploadBytes,
    ReadNoBlob,
    Newlines,
    ControlCharacters,
    StealNames,
    RebindNames,
    WatchBlindly,
    Direct,
    FloodLogs,
    LongPauses,
    ForgeEntries,
    ForgeCounts,
    FloodHosts,
    FloodWants,
    FloodReplicas,
    LongArguments,
    CompileBomb,
    HoardWaits,
    SlowUpload,
    WatchRuns,
}

/// The attack's targets and settings.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    /// The coordinator.
    pub coordinator: SocketAddr,
    /// The direct addresses of its hosts.
    pub hosts: Vec<SocketAddr>,
    /// A blob that the coordinator has.
    pub blob: String,
    /// The seed of all peers' random choices.
    pub seed: u64,
    /// Duration of the attacks.
    pub seconds: u64,
}

/// Outcomes of the attacks of one kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Made {
    /// The kind.
    pub attack: String,
    /// Number of attacks begun.
    pub begun: u64,
    /// Number of them in which the peer was cut off or refused.
    pub cut_off: u64,
    /// Number of them that were let in, which should be zero.
    pub let_in: u64,
}

/// The attackers' process.
pub struct Attackers(Child);

impl Attackers {
    /// Starts it.
    pub fn start(orders: &Orders) -> Result<Self> {
        let program = std::env::current_exe().context("this program does not know where it is")?;
        let mut command = Command::new(program);
        command.args([COMMAND, &serde_json::to_string(orders)?]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(Self(command.spawn().context("the attackers cannot be started")?))
    }

    /// The id of their process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Whether they are still attacking.
    pub fn are_there(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_none())
    }

    /// Waits until they have finished.
    pub fn end(self) -> Result<Vec<Made>> {
        let output = self.0.wait_with_output()?;
        ensure!(output.status.success(), "the attackers failed");
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// One of the forged peers.
pub struct Peer {
    pub coordinator: SocketAddr,
    /// Its source address: a loopback address.
    pub address: Ipv4Addr,
    /// A module that takes minutes to compile.
    pub bomb: Rc<[u8]>,
    pub hosts: Vec<SocketAddr>,
    pub random: Random,
    blob: BlobHash,
}

#[derive(Debug)]
struct LetIn(u16);

impl std::fmt::Display for LetIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the attack was let in: {}", self.0)
    }
}

impl std::error::Error for LetIn {}

/// The error of an attack that was answered like an honest request.
pub fn let_in(status: u16) -> Error {
    Error::other(LetIn(status))
}

/// The body of the process: attacks, and reports the outcomes on stdout.
pub fn run_here(orders: &str) -> Result<()> {
    let orders: Orders = serde_json::from_str(orders)?;
    nice(NICE)?;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let made = LocalSet::new().block_on(&runtime, attack(&orders))?;
    serde_json::to_writer(std::io::stdout(), &made)?;
    Ok(())
}

/// A peer's source address. A quarter of the peers share the honest users' address, and the others have one each.
fn address(number: usize) -> Ipv4Addr {
    match number % 4 {
        0 => Ipv4Addr::LOCALHOST,
        _ => Ipv4Addr::new(127, 66, (number / 250) as u8, 1 + (number % 250) as u8),
    }
}

async fn attack(orders: &Orders) -> Result<Vec<Made>> {
    let until = Instant::now() + Duration::from_secs(orders.seconds);
    let blob = BlobHash::parse(&orders.blob).context("a blob's hash")?;
    let kinds =
        ATTACKS.map(|(attack, _)| Made { attack: format!("{attack:?}"), begun: 0, cut_off: 0, let_in: 0 });
    let made = Rc::new(std::cell::RefCell::new(kinds.to_vec()));
    let mut dice = Random::new(orders.seed);
    let bomb: Rc<[u8]> = sateen_tests::wat::takes_long_to_compile().into();
    let peers: Vec<_> = (0..PEERS)
        .map(|number| {
            let mut peer = Peer {
                coordinator: orders.coordinator,
                address: address(number),
                bomb: Rc::clone(&bomb),
                hosts: orders.hosts.clone(),
                random: Random::new(dice.next_u64()),
                blob,
            };
            let made = Rc::clone(&made);
            tokio::task::spawn_local(async move {
                while Instant::now() < until {
                    sleep(Duration::from_millis(peer.random.below(REST_MAX_MS) as u64)).await;
                    let kind = peer.choose();
                    made.borrow_mut()[kind].begun += 1;
                    let latest = until.min(Instant::now() + ATTACK_MAX);
                    let ended = timeout_at(latest, peer.make(ATTACKS[kind].0)).await;
                    let Ok(Err(error)) = ended else { continue };
                    let made = &mut made.borrow_mut()[kind];
                    made.cut_off += 1;
                    if error.kind() == ErrorKind::Other
                        && error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<LetIn>)
                    {
                        made.let_in += 1;
                    }
                }
            })
        })
        .collect();
    for peer in peers {
        peer.await?;
    }
    Ok(made.take())
}

impl Peer {
    /// The number of an attack.
    fn choose(&mut self) -> usize {
        let all: usize = ATTACKS.iter().map(|(_, weight)| weight).sum();
        let mut left = self.random.below(all);
        let chosen = ATTACKS.iter().position(|(_, weight)| {
            let is_chosen = left < *weight;
            left = left.saturating_sub(*weight);
            is_chosen
        });
        chosen.unwrap_or_default()
    }

    /// The maximum number.
    pub fn seconds(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.random.below(most as usize * 1000) as u64)
    }

    async fn make(&mut self, attack: Attack) -> IoResult<()> {
        match attack {
            Attack::FloodHellos => self.floods_hellos().await,
            Attack::SayNoHello => self.says_no_hello().await,
            Attack::HostileName => self.has_a_hostile_name().await,
            Attack::EmptyStrings => self.sends_empty_strings().await,
            Attack::EndlessFragments => self.sends_endless_fragments().await,
            Attack::HalfAFrame => self.sends_half_a_frame().await,
            Attack::Find => self.asks_for_jobs().await,
            Attack::ReadNothing => self.reads_nothing().await,
            Attack::ForgeRoots => self.forges_roots().await,
            Attack::FailRuns => self.fails_runs().await,
            Attack::Accuse => self.accuses().await,
            Attack::Parcels => self.announces_parcels().await,
            Attack::Rubbish => self.relays_rubbish().await,
            Attack::EndlessHeaders => self.sends_endless_headers().await,
            Attack::EndlessBodies => self.sends_endless_bodies().await,
            Attack::UploadBytes => self.uploads_by_bytes().await,
            Attack::ReadNoBlob => self.reads_no_blob(self.blob).await,
            Attack::Newlines => self.publishes_newlines().await,
            Attack::ControlCharacters => self.publishes_control_characters().await,
            Attack::StealNames => self.steals_names().await,
            Attack::RebindNames => self.rebinds_names().await,
            Attack::WatchBlindly => self.watches_blindly().await,
            Attack::FloodLogs => self.floods_logs().await,
            Attack::LongPauses => self.pauses_at_length().await,
            Attack::ForgeEntries => self.forges_entries().await,
            Attack::ForgeCounts => self.forges_counts().await,
            Attack::FloodHosts => self.floods_hosts().await,
            Attack::FloodWants => self.floods_wants().await,
            Attack::FloodReplicas => self.floods_replicas().await,
            Attack::LongArguments => self.queues_long_arguments().await,
            Attack::CompileBomb => self.bombs_compilers().await,
            Attack::HoardWaits => self.hoards_waits().await,
            Attack::SlowUpload => self.uploads_slowly().await,
            Attack::WatchRuns => self.watches_what_is_not().await,
            Attack::Direct => match self.random.below(3) {
                0 => self.opens_many_direct_links().await,
                1 => self.forges_proofs().await,
                _ => self.holds_handshakes().await,
            },
        }
    }
}

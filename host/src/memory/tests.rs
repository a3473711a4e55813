use super::*;

pub struct NoRun;

impl Run for NoRun {
    fn wake(&self, _: TaskId) {}
    fn look_for_room(&self) {}
}

fn claim(memory: &HostMemory) -> Claim {
    memory.claim_for_test()
}

#[test]
fn an_instance_that_finds_no_room_is_evicted_unless_it_is_the_oldest() {
    let memory = HostMemory::unwatched(100);
    let (oldest, middle, youngest) = (claim(&memory), claim(&memory), claim(&memory));
    assert_eq!((oldest.grow_to(40), middle.grow_to(30), youngest.grow_to(20)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(middle.grow_to(50), Err(NoRoom));
    assert!(middle.is_evicted());
    drop(middle);
    assert_eq!(youngest.grow_to(60), Ok(()));
    // The oldest gets the memory that it wants, and the youngest is evicted for it.
    assert_eq!(oldest.grow_to(100), Ok(()));
    assert!(youngest.is_evicted() && !oldest.is_evicted());
    assert!(!memory.has_room_for(0));
    drop(youngest);
    assert!(memory.has_room_for(0) && !memory.has_room_for(1));
}

#[test]
fn the_youngest_make_room_and_no_more_of_them_than_need_be() {
    let memory = HostMemory::unwatched(100);
    let claims: Vec<Claim> = (0..5).map(|_| claim(&memory)).collect();
    assert!(claims.iter().all(|claim| claim.grow_to(20).is_ok()));
    assert_eq!(claims[0].grow_to(50), Ok(()));
    let evicted: Vec<bool> = claims.iter().map(Claim::is_evicted).collect();
    assert_eq!(evicted, [false, false, false, true, true]);
}

/// Eight guests that ended at about the same time had results for which there was room only once, and kept them all.
#[test]
fn a_large_result_passes_only_if_there_is_room_for_its_copies() {
    const RESULT: usize = PARCEL_BYTES_MIN;
    let memory = HostMemory::unwatched(8 * RESULT);
    let claims: Vec<Claim> = (0..5).map(|_| claim(&memory)).collect();
    assert!(claims.iter().all(|claim| claim.grow_to(RESULT).is_ok()));
    assert_eq!(claims[1].add_result(RESULT), Ok(()));
    assert_eq!(claims[2].add_result(RESULT), Err(NoRoom));
    let evicted: Vec<bool> = claims.iter().map(Claim::is_evicted).collect();
    assert_eq!(evicted, [false, false, true, false, false]);
    // For that of the oldest, others make room.
    assert_eq!(claims[0].add_result(RESULT), Ok(()));
    assert!(!claims[1].is_evicted() && claims[4].is_evicted());
}

#[test]
fn even_the_oldest_waits_for_results_that_go_by_themselves() {
    let memory = HostMemory::unwatched(100);
    memory.pass_result(25);
    memory.keep_undelivered(20);
    assert!(memory.has_room_for(30) && !memory.has_room_for(31), "though there is no instance");
    let (oldest, youngest) = (claim(&memory), claim(&memory));
    assert_eq!((oldest.grow_to(20), youngest.grow_to(10)), (Ok(()), Ok(())));
    // A result has room made for it, but by the oldest.
    assert_eq!(oldest.add_result(5), Ok(()));
    assert!(youngest.is_evicted() && !oldest.is_evicted());
    drop(youngest);
    memory.pass_result(20);
    assert!(!oldest.is_evicted());
    assert_eq!(oldest.grow_to(26), Err(NoRoom));
    assert!(oldest.is_evicted());
    drop(oldest);
    assert!(!memory.may_begin(10));
    memory.take_result(45);
    memory.keep_undelivered(0);
    assert!(memory.has_room_for(1000), "there is nothing that could make room");
}

#[test]
fn guests_do_without_what_a_compiler_takes() {
    let memory = HostMemory::unwatched(100);
    let (oldest, youngest) = (claim(&memory), claim(&memory));
    assert_eq!((oldest.grow_to(40), youngest.grow_to(30)), (Ok(()), Ok(())));
    memory.compiles(31);
    assert!(youngest.is_evicted() && !oldest.is_evicted());
    drop(youngest);
    assert!(memory.has_room_for(29) && !memory.has_room_for(30));
    memory.0.see(80);
    assert!(!memory.has_room_for(0), "what is resident is this process's alone");
    memory.0.see(0);
    memory.compiles(70);
    assert_eq!(oldest.grow_to(41), Err(NoRoom));
    memory.compiles(0);
    assert!(memory.has_room_for(60));
}

#[test]
fn resident_memory_counts_but_a_first_instance_may_always_begin() {
    let memory = HostMemory::unwatched(100);
    memory.0.see(150);
    assert!(memory.has_room_for(1000), "there is nobody who could make room");
    let (oldest, youngest) = (claim(&memory), claim(&memory));
    assert!(!memory.has_room_for(1));
    memory.0.see(150);
    assert!(youngest.is_evicted() && !oldest.is_evicted());
    memory.0.see(50);
    assert!(memory.has_room_for(50) && !memory.has_room_for(51));
}

#[test]
fn memory_that_is_kept_counts_until_it_is_dropped() {
    let memory = HostMemory::unwatched(100);
    let kept = memory.keep(60).expect("there is room");
    assert!(memory.keep(50).is_none());
    let (oldest, younger) = (claim(&memory), claim(&memory));
    assert_eq!(oldest.grow_to(40), Ok(()));
    assert_eq!(younger.grow_to(10), Err(NoRoom));
    drop(kept);
    assert_eq!(oldest.grow_to(100), Ok(()));
    assert!(memory.keep(1).is_none());
}

#[test]
fn replicas_take_room_that_instances_have() {
    let memory = HostMemory::unwatched(100);
    let (oldest, youngest) = (claim(&memory), claim(&memory));
    assert_eq!((oldest.grow_to(30), youngest.grow_to(30)), (Ok(()), Ok(())));
    memory.count_objects(0, 40);
    assert!(!youngest.is_evicted() && !memory.has_room_for(1));
    memory.count_objects(40, 41);
    assert!(youngest.is_evicted() && memory.has_room_beside_objects());
    drop(youngest);
    memory.count_objects(41, 100);
    assert!(!memory.has_room_beside_objects());
    memory.count_objects(100, 0);
    assert!(memory.has_room_for(70) && memory.has_room_beside_objects());
}

/// Stacks, for example, and what pools keep for the next instance.
#[test]
fn what_is_resident_and_does_not_count_leaves_less_room() {
    let memory = HostMemory::unwatched(100);
    let (oldest, youngest) = (claim(&memory), claim(&memory));
    assert_eq!((oldest.grow_to(20), youngest.grow_to(20)), (Ok(()), Ok(())));
    memory.0.see(55);
    assert!(memory.has_room_for(45) && !memory.has_room_for(46));
    assert_eq!(youngest.grow_to(65), Ok(()), "85 that count, and 15 that do not");
    assert!(!memory.has_room_for(1));
    // All of it is touched by now.
    memory.0.see(100);
    assert!(!youngest.is_evicted());
    assert_eq!(youngest.grow_to(66), Err(NoRoom));
    drop(youngest);
    memory.0.see(20);
    assert!(memory.has_room_for(80));
}

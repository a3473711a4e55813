// Made from the types of the API; see api/src.
/**
 * A host's key: its identity, whatever its name, its address and its id are.
 */
export type HostKey = { 
/**
 * The public part of its ed25519 key, 64 digits.
 */
key: string, 
/**
 * `enrolled`: it may take part. `waiting`: it waits for the operator's approval. `revoked`: it is refused.
 * `replaced`: its host has another key now.
 */
state: string, 
/**
 * Whether the operator has approved it by name.
 */
approved: boolean, 
/**
 * The key that has replaced it.
 */
replaced_by: string | null, 
/**
 * The host's name when it was last seen; empty if it was never seen.
 */
name: string, 
/**
 * Its address then.
 */
address: string, 
/**
 * Whether a host with this key is connected.
 */
connected: boolean, 
/**
 * When it was first seen, or approved before that.
 */
since: string, 
/**
 * When it was last seen; null if it never was.
 */
seen: string | null, 
/**
 * The address from which a second host with the same key has tried to connect, while this coordinator ran: the
 * key was copied.
 */
copied_to: string | null, };

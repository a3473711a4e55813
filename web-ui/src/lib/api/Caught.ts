// Made from the types of the API; see api/src.
/**
 * How probable it is that a host which gave wrong results was found, if the hosts that computed its work again are honest.
 */
export type Caught = { 
/**
 * The case: the host lied about one of this many of its units; in a small run, about one unit.
 */
one_in: number, 
/**
 * The probability, from 0 to 1: that of the host of which the least was checked.
 */
probability: number, };

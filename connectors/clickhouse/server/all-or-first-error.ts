/** Statements that do not wait for one another. */

/**
 * Waits until all have ended, also when one fails: nothing goes on beside what follows.
 * @throws what the first of them threw, in their order
 */
export async function allOrFirstError<Results extends readonly unknown[]>(
  ...promises: { readonly [Index in keyof Results]: Promise<Results[Index]> }
): Promise<Results> {
  const settled = await Promise.allSettled(promises);
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  }) as readonly unknown[] as Results;
}

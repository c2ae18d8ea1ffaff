/** Promises that run side by side. */

/**
 * Waits until all have ended, also when one fails: nothing goes on beside the code that follows.
 * @throws the error of the first one, in the order of the arguments, that failed
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

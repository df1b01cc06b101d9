// SPDX-License-Identifier: BSD-2-Clause
package syncedmem;

/** The library refused: its status, and its sentence on what was asked, what is wrong and what to do. */
public class SyncedmemException extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final SyncedmemLibrary.Status status;

    SyncedmemException(SyncedmemLibrary.Status status, String sentence) {
        super(sentence);
        this.status = status;
    }

    /** Which of C's errors it is. */
    public SyncedmemLibrary.Status status() {
        return status;
    }

    /** Host or device memory ran out. The virtual machine's own memory did not, so this is no OutOfMemoryError. */
    public static final class OutOfMemory extends SyncedmemException {
        private static final long serialVersionUID = 1;

        OutOfMemory(String sentence) {
            super(SyncedmemLibrary.Status.ERROR_OUT_OF_MEMORY, sentence);
        }
    }
}

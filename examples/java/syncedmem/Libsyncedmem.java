// SPDX-License-Identifier: BSD-2-Clause
package syncedmem;

import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/** The library in this process, and what concerns no single object. */
public final class Libsyncedmem {
    /**
     * The C API as it is. The library is the one that the property syncedmem.library or the variable SYNCEDMEM_LIBRARY
     * names; else the one that the process has already (a preload, a Caffe that is linked with it) or the system finds.
     */
    public static final SyncedmemLibrary API = load();

    private Libsyncedmem() {}

    private static SyncedmemLibrary load() {
        String named = System.getProperty("syncedmem.library", System.getenv("SYNCEDMEM_LIBRARY"));
        String file = named == null || named.isEmpty() ? "libsyncedmem.so.0" : named;
        SyncedmemLibrary api = Native.load(file, SyncedmemLibrary.class, SyncedmemLibrary.OPTIONS);
        String version = api.syncedmem_version();
        if (!version.equals(SyncedmemLibrary.VERSION)) {
            throw new UnsatisfiedLinkError(
                    file + " is version " + version + ", and this was made for " + SyncedmemLibrary.VERSION);
        }
        return api;
    }

    /** Makes what C returned an exception if it was an error. To be called on the thread that made the call. */
    public static void check(int status) {
        if (status == SyncedmemLibrary.Status.SUCCESS.value) {
            return;
        }
        String sentence = API.syncedmem_last_error();
        if (status == SyncedmemLibrary.Status.ERROR_OUT_OF_MEMORY.value) {
            throw new SyncedmemException.OutOfMemory(sentence);
        }
        throw new SyncedmemException(SyncedmemLibrary.Status.of(status), sentence);
    }

    /** Whether there is a GPU to use. */
    public static boolean cudaAvailable() {
        return API.syncedmem_cuda_status(null) == SyncedmemLibrary.Status.SUCCESS.value;
    }

    /** The driver's version and the devices, or why there is no GPU and what to do. */
    public static String cudaStatus() {
        PointerByReference sentence = new PointerByReference();
        API.syncedmem_cuda_status(sentence);
        Pointer text = sentence.getValue();
        return text == null ? "" : text.getString(0, "UTF-8");
    }

    /** Sets the accounting from now on. */
    public static void setAccounting(SyncedmemLibrary.Accounting accounting) {
        check(API.syncedmem_set_accounting(accounting.value));
    }

    /** The statistics so far. */
    public static SyncedmemLibrary.Stats stats() {
        SyncedmemLibrary.Stats stats = new SyncedmemLibrary.Stats();
        stats.size = stats.size();
        check(API.syncedmem_stats(stats));
        return stats;
    }
}

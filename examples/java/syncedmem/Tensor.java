// SPDX-License-Identifier: BSD-2-Clause
package syncedmem;

import com.sun.jna.Function;
import com.sun.jna.Pointer;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One tensor of syncedmem_to_dlpack: for as long as it lives, its memory stays where it is, whatever becomes of the
 * object. Its deleter is native code that may run on any thread, so a Cleaner may run it.
 */
final class Tensor implements Runnable {
    /** DLPack's code for unsigned integers. */
    static final byte UINT = 1;

    // DLManagedTensorVersioned of DLPack 1.0 on a 64-bit system: two uint32_t of version, the manager's pointer, the
    // deleter, 64 bits of flags, and the tensor, which begins with the address of its data.
    private static final long DELETER = 16;
    private static final long DATA = 32;

    private final AtomicReference<Pointer> tensor;
    private final Pointer data;

    Tensor(Pointer tensor) {
        this.tensor = new AtomicReference<>(tensor);
        this.data = tensor.getPointer(DATA);
    }

    /** The address of its memory, on its own side; NULL for no bytes on the device. */
    Pointer data() {
        return data;
    }

    /** Ends it, once. */
    @Override
    public void run() {
        Pointer ended = tensor.getAndSet(null);
        if (ended != null) {
            Function.getFunction(ended.getPointer(DELETER)).invokeVoid(new Object[] {ended});
        }
    }

    boolean isEnded() {
        return tensor.get() == null;
    }
}

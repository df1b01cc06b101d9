// SPDX-License-Identifier: BSD-2-Clause
package syncedmem;

import com.sun.jna.Pointer;
import java.lang.ref.Cleaner;

/** An address on the device, for others that speak CUDA: valid until this is closed, or forgotten. */
public final class DeviceData implements AutoCloseable {
    private final Tensor tensor;
    private final long bytes;
    private final Cleaner.Cleanable cleanable;

    DeviceData(Tensor tensor, long bytes, Cleaner cleaner) {
        this.tensor = tensor;
        this.bytes = bytes;
        this.cleanable = cleaner.register(this, tensor);
    }

    /** The address, which the host cannot follow; 0 for no bytes. Keep this object while the address is used. */
    public long address() {
        if (tensor.isEnded()) {
            throw new IllegalStateException("this DeviceData is closed");
        }
        return Pointer.nativeValue(tensor.data());
    }

    /** How many bytes there are. */
    public long bytes() {
        return bytes;
    }

    /** The address is not used any more. What is closed already stays so. */
    @Override
    public void close() {
        cleanable.clean();
    }
}

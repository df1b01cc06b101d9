// libsyncedmem's C API as JNA sees it. SPDX-License-Identifier: BSD-2-Clause
// Generated from include/syncedmem.json by generate.py. Do not edit.
package syncedmem;

import com.sun.jna.Callback;
import com.sun.jna.DefaultTypeMapper;
import com.sun.jna.FromNativeContext;
import com.sun.jna.Library;
import com.sun.jna.Pointer;
import com.sun.jna.PointerType;
import com.sun.jna.Structure;
import com.sun.jna.ToNativeContext;
import com.sun.jna.TypeConverter;
import com.sun.jna.TypeMapper;
import com.sun.jna.ptr.ByteByReference;
import com.sun.jna.ptr.DoubleByReference;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Every function of the C API, under its own name: what each asks for is in syncedmem.h. Addresses and lengths are the
 * caller's affair here as they are in C; {@link SyncedMemory} is what looks after them.
 */
public interface SyncedmemLibrary extends Library {
    /** The version of the header that this was made from. */
    String VERSION = "0.1.0";

    /** JNA on its own passes true as -1 in 32 bits, and 255 is no C bool: a byte of 0 or 1 is. */
    TypeConverter BOOL = new TypeConverter() {
        @Override
        public Object toNative(Object value, ToNativeContext context) {
            return (byte) (Boolean.TRUE.equals(value) ? 1 : 0);
        }

        @Override
        public Object fromNative(Object value, FromNativeContext context) {
            return ((Number) value).byteValue() != 0;
        }

        @Override
        public Class<?> nativeType() {
            return Byte.class;
        }
    };

    /** Text is UTF-8. JNA on its own takes the locale's characters, and drops what is behind a NUL. */
    TypeConverter TEXT = new TypeConverter() {
        @Override
        public Object toNative(Object value, ToNativeContext context) {
            String text = (String) value;
            if (text.indexOf('\0') >= 0) {
                throw new IllegalArgumentException("text with a NUL in it");
            }
            return (text + '\0').getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public Object fromNative(Object value, FromNativeContext context) {
            return value == null ? null : ((Pointer) value).getString(0, "UTF-8");
        }

        @Override
        public Class<?> nativeType() {
            return Pointer.class;
        }
    };

    /** How C's types are passed that JNA would pass otherwise. */
    static TypeMapper types() {
        DefaultTypeMapper mapper = new DefaultTypeMapper();
        mapper.addTypeConverter(Boolean.class, BOOL);
        mapper.addTypeConverter(String.class, TEXT);
        return mapper;
    }

    /** What Native.load is to be given; JNA looks for a field of this name, too. */
    Map<String, Object> OPTIONS = Map.of(OPTION_TYPE_MAPPER, types());

    /** The major number of the version that this header belongs to. */
    int SYNCEDMEM_VERSION_MAJOR = 0;

    /** The minor number of the version that this header belongs to. */
    int SYNCEDMEM_VERSION_MINOR = 1;

    /** The patch number of the version that this header belongs to. */
    int SYNCEDMEM_VERSION_PATCH = 0;

    /** Bytes of storage that {@code syncedmem_construct} needs at least. */
    int SYNCEDMEM_STORAGE_BYTES = 32;

    /** The alignment in bytes that {@code syncedmem_construct} needs at least. */
    int SYNCEDMEM_STORAGE_ALIGNMENT = 8;

    /** The longest name of an object, in bytes. */
    int SYNCEDMEM_NAME_BYTES = 200;

    /** The outcome of a call. */
    enum Status {
        /** Done. */
        SUCCESS(0),
        /**
         * An argument cannot be used: NULL, misaligned, too small, or a number that is not one of its enumeration.
         */
        ERROR_INVALID_ARGUMENT(1),
        /** The handle does not lead to a live object. */
        ERROR_INVALID_HANDLE(2),
        /** Host or device memory ran out, or the size asked for cannot exist. */
        ERROR_OUT_OF_MEMORY(3),
        /** The call needs a GPU, and there is none to use; the message says why. */
        ERROR_NO_GPU(4),
        /** The object's head does not allow it. */
        ERROR_INVALID_STATE(5),
        /**
         * The calling thread is already inside an operation on the same object; or a signal handler has interrupted
         * it inside the library, where the call would have to wait for that.
         */
        ERROR_REENTERED(6),
        /** A bug of the library, caught inside it. */
        ERROR_INTERNAL(7),
        /** A call of the CUDA driver failed; the message names it and its status. */
        ERROR_DRIVER(8),
        /**
         * A call of the CUDA driver met an error that an earlier kernel or copy of this process had left behind.
         */
        ERROR_PENDING(9),
        /** The device check is on, and another device is current than the one that holds the data. */
        ERROR_WRONG_DEVICE(10),
        /** A file cannot be written. */
        ERROR_FILE(11),
        /** Tensors of the object's memory are in use, which the call would take away. */
        ERROR_EXPORTED(12);

        /** C's number for it. */
        public final int value;

        Status(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Status of(int value) {
            for (Status each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_status_t");
        }
    }

    /** Where the newest data is; the numbers are those of {@code caffe::SyncedMemory::SyncedHead}. */
    enum Head {
        /** Neither side has been touched. */
        UNINITIALIZED(0),
        /** The host is newer. */
        HEAD_AT_CPU(1),
        /** The device is newer. */
        HEAD_AT_GPU(2),
        /** Both sides hold the same data. */
        SYNCED(3);

        /** C's number for it. */
        public final int value;

        Head(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Head of(int value) {
            for (Head each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_head_t");
        }
    }

    /** What the library may give back of an object on its own when memory runs out. */
    enum Eviction {
        /** Nothing. */
        EVICT_NEVER(0),
        /** A side that the other can replace. */
        EVICT_REDUNDANT(1),
        /** Any side. */
        EVICT_ALWAYS(2);

        /** C's number for it. */
        public final int value;

        Eviction(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Eviction of(int value) {
            for (Eviction each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_eviction_t");
        }
    }

    /** One of the two sides of an object. */
    enum Side {
        /** Memory of the CPU. */
        HOST(0),
        /** Memory of the GPU. */
        DEVICE(1);

        /** C's number for it. */
        public final int value;

        Side(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Side of(int value) {
            for (Side each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_side_t");
        }
    }

    /** What is done with the data of a side. */
    enum Access {
        /** It is read: as {@code syncedmem_cpu_data} and {@code syncedmem_gpu_data}. */
        READ(0),
        /**
         * It is read and written: as {@code syncedmem_mutable_cpu_data} and {@code syncedmem_mutable_gpu_data}.
         */
        WRITE(1),
        /**
         * All of it is written, none of it read: as {@code syncedmem_overwrite_cpu_data} and {@code
         * syncedmem_overwrite_gpu_data}.
         */
        OVERWRITE(2);

        /** C's number for it. */
        public final int value;

        Access(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Access of(int value) {
            for (Access each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_access_t");
        }
    }

    /** A kind of memory. */
    enum Memory {
        /** Host memory that is not page-locked. */
        MEMORY_PAGEABLE(0),
        /** Page-locked host memory. */
        MEMORY_PINNED(1),
        /** Device memory. */
        MEMORY_DEVICE(2),
        /** All three. */
        MEMORY_ALL(3);

        /** C's number for it. */
        public final int value;

        Memory(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Memory of(int value) {
            for (Memory each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_memory_t");
        }
    }

    /**
     * When a device or page-locked block that was given back is handed out again: work of the device's may be using
     * it still.
     */
    enum Reuse {
        /** After its context was synchronised since: whatever used it on that context's streams is done. */
        REUSE_SYNCHRONISED(0),
        /**
         * After the work that the legacy default stream had when it was given back, and what was declared with {@code
         * syncedmem_record_stream}.
         */
        REUSE_STREAM(1);

        /** C's number for it. */
        public final int value;

        Reuse(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Reuse of(int value) {
            for (Reuse each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_reuse_t");
        }
    }

    /** What {@code Caffe::mode()} is taken to be. */
    enum Mode {
        /** What the Caffe in the process says. */
        MODE_AUTO(0),
        /** CPU mode. */
        MODE_CPU(1),
        /** GPU mode. */
        MODE_GPU(2);

        /** C's number for it. */
        public final int value;

        Mode(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Mode of(int value) {
            for (Mode each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_mode_t");
        }
    }

    /** When host memory of objects is page-locked. */
    enum Pinning {
        /** In GPU mode. */
        PIN_AUTO(0),
        /** Always. */
        PIN_ALWAYS(1),
        /** Never. */
        PIN_NEVER(2);

        /** C's number for it. */
        public final int value;

        Pinning(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Pinning of(int value) {
            for (Pinning each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_pinning_t");
        }
    }

    /** What a failure in a C++ entry point does after it was reported. */
    enum ErrorPolicy {
        /** {@code abort()}, as Caffe did. */
        ON_ERROR_ABORT(0),
        /**
         * {@code std::bad_alloc} when memory ran out, {@code std::runtime_error} for the rest: those of the C++
         * runtime that the calling program or library uses, libstdc++ or libc++.
         */
        ON_ERROR_THROW(1);

        /** C's number for it. */
        public final int value;

        ErrorPolicy(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static ErrorPolicy of(int value) {
            for (ErrorPolicy each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_error_policy_t");
        }
    }

    /** What is accounted for. */
    enum Accounting {
        /** Nothing: it costs nothing. */
        ACCOUNTING_OFF(0),
        /** Objects, blocks, fills and copies. */
        ACCOUNTING_ON(1),
        /** Every access, too, also where nothing is to be done: each costs some tens of nanoseconds then. */
        ACCOUNTING_ACCESSES(2);

        /** C's number for it. */
        public final int value;

        Accounting(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Accounting of(int value) {
            for (Accounting each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_accounting_t");
        }
    }

    /** A {@code caffe::SyncedMemory}, seen from C. */
    final class Syncedmem extends PointerType {
        /** NULL. */
        public Syncedmem() {}

        /** The one at this address. */
        public Syncedmem(Pointer address) {
            super(address);
        }
    }

    /** A CUDA stream, as {@code CUstream} and {@code cudaStream_t} point to it. */
    final class CUstream extends PointerType {
        /** NULL. */
        public CUstream() {}

        /** The one at this address. */
        public CUstream(Pointer address) {
            super(address);
        }
    }

    /** A number of like things, their bytes, and the time that they took. */
    @Structure.FieldOrder({
        "count",
        "bytes",
        "nanoseconds",
    })
    final class Sum extends Structure {
        /** How many. */
        public long count;
        /** Bytes in all. */
        public long bytes;
        /** Nanoseconds in all; 0 where that is not measured. */
        public long nanoseconds;
    }

    /** One kind of memory, in bytes. */
    @Structure.FieldOrder({
        "live",
        "peak",
        "idle",
        "budget",
        "allocations",
        "pool_hits",
        "frees",
        "turned_away",
    })
    final class MemoryStats extends Structure {
        /** Bytes that objects hold now. */
        public long live;
        /** The most that was since accounting began, or since {@code syncedmem_reset_peaks}. */
        public long peak;
        /** Bytes that lie idle, for the next object. */
        public long idle;
        /** Bytes that may lie idle. */
        public long budget;
        /** Blocks that came from the system or the driver. */
        public Sum allocations;
        /** Blocks that came from the pool. */
        public Sum pool_hits;
        /** Blocks that objects gave back. */
        public Sum frees;
        /** Blocks that a budget turned away: not kept for the next object, or not page-locked. */
        public Sum turned_away;
    }

    /** What was accounted for so far. */
    @Structure.FieldOrder({
        "size",
        "pageable",
        "pinned",
        "device",
        "to_device_pinned",
        "to_device_staged",
        "to_device_pageable",
        "to_host_pinned",
        "to_host_staged",
        "to_host_pageable",
        "host_fills",
        "device_fills",
        "waits",
        "synchronises",
        "registrations",
        "host_evictions",
        "device_evictions",
        "host_failures",
        "device_failures",
        "objects_made",
        "objects_unseen",
        "objects_ended",
        "host_reads",
        "host_writes",
        "host_overwrites",
        "device_reads",
        "device_writes",
        "device_overwrites",
        "dropped",
    })
    final class Stats extends Structure {
        /** Set by the caller to {@code sizeof(syncedmem_stats_t)}; set to how many bytes were written. */
        public long size;
        /** Pageable host memory. */
        public MemoryStats pageable;
        /** Page-locked host memory. */
        public MemoryStats pinned;
        /** Device memory. */
        public MemoryStats device;
        /** Copies from page-locked memory to the device. */
        public Sum to_device_pinned;
        /** Copies from pageable memory to the device through page-locked slots. */
        public Sum to_device_staged;
        /** Copies from pageable memory to the device by the driver. */
        public Sum to_device_pageable;
        /** Copies from the device to page-locked memory. */
        public Sum to_host_pinned;
        /** Copies from the device to pageable memory through page-locked slots. */
        public Sum to_host_staged;
        /** Copies from the device to pageable memory by the driver. */
        public Sum to_host_pageable;
        /** Host sides that were filled with zeros; of fresh pages from the system the time is 0. */
        public Sum host_fills;
        /** Device sides that were filled with zeros. */
        public Sum device_fills;
        /** Waits for copies in flight. */
        public Sum waits;
        /** Contexts that were waited for before a block was handed out again, evicted, or unlocked. */
        public Sum synchronises;
        /** Pageable memory that was page-locked where it is. */
        public Sum registrations;
        /** Host sides that were given back to make room. */
        public Sum host_evictions;
        /** Device sides that were given back to make room. */
        public Sum device_evictions;
        /** Allocations for the host that failed. */
        public Sum host_failures;
        /** Allocations for the device that failed. */
        public Sum device_failures;
        /** Objects that came to be. */
        public long objects_made;
        /** Those of them that were first noticed at an access. */
        public long objects_unseen;
        /** Objects that were destroyed. */
        public long objects_ended;
        /**
         * Accesses to the host to read, to write, and to overwrite: those that needed something, or, where every
         * access is counted, all of them.
         */
        public long host_reads;
        /** As {@code host_reads}. */
        public long host_writes;
        /** As {@code host_reads}. */
        public long host_overwrites;
        /** Accesses to the device, likewise. */
        public long device_reads;
        /** As {@code device_reads}. */
        public long device_writes;
        /** As {@code device_reads}. */
        public long device_overwrites;
        /**
         * How many things were not counted: for want of memory, since a signal handler came in between, or, of
         * accesses, since another thread had the books for longer than 0.1 seconds (as during a slow fork).
         */
        public long dropped;
    }

    /** Called when a C++ entry point failed: see {@code syncedmem_set_error_callback}. */
    interface ErrorCallback extends Callback {
        /** What C calls. */
        void invoke(int status, String message, Pointer user);
    }

    /**
     * Says what {@code Caffe::mode()} is on the calling thread: 0 for CPU, 1 for GPU; see {@code
     * syncedmem_set_mode_callback}.
     */
    interface ModeCallback extends Callback {
        /** What C calls. */
        int invoke(Pointer user);
    }

    /**
     * The name of a {@code syncedmem_status_t}, such as "SYNCEDMEM_ERROR_NO_GPU"; of another number, "unknown
     * status".
     */
    String syncedmem_status_name(int status);

    /**
     * What went wrong in the calling thread's last call that failed, as a sentence: what was asked, what is wrong,
     * what to do.
     */
    String syncedmem_last_error();

    /** The version of the library that runs, such as "1.2.3". */
    String syncedmem_version();

    /**
     * Looks for the CUDA driver, if nothing has yet, and says whether it can be used: success, or {@code NO_GPU}.
     */
    int syncedmem_cuda_status(PointerByReference sentence);

    /**
     * Says whether from now on every call looks at which device is current, and refuses with {@code WRONG_DEVICE}
     * where the object's device block is on another one: the check of the original's DEBUG builds.
     */
    int syncedmem_set_device_check(boolean on);

    /** Writes to {@code *on} whether the device check is on. */
    int syncedmem_get_device_check(ByteByReference on);

    /**
     * Writes to {@code *count} how often data on one device was asked for while another was current, as far as the
     * driver was called for it.
     */
    int syncedmem_device_mismatches(LongByReference count);

    /** Makes an object of {@code bytes} bytes on each side and writes its handle to {@code *mem}. */
    int syncedmem_create(long bytes, PointerByReference mem);

    /** Ends an object of {@code syncedmem_create} and frees the memory it owns. */
    int syncedmem_destroy(Syncedmem mem);

    /**
     * Makes an object of {@code bytes} bytes on each side in the caller's storage and writes its handle, which is the
     * storage's address, to {@code *mem}.
     */
    int syncedmem_construct(Pointer storage, long storage_bytes, long bytes, PointerByReference mem);

    /** Ends an object of {@code syncedmem_construct} and frees the memory it owns, but not its storage. */
    int syncedmem_destruct(Syncedmem mem);

    /** Writes where the newest data is to {@code *head}. */
    int syncedmem_head(Syncedmem mem, IntByReference head);

    /** Writes the size of each side, in bytes, to {@code *bytes}. */
    int syncedmem_size(Syncedmem mem, LongByReference bytes);

    /**
     * Writes the address of the host data to {@code *data}, for reading: allocates and zeroes it at the first touch,
     * copies it from the device if that is newer.
     */
    int syncedmem_cpu_data(Syncedmem mem, PointerByReference data);

    /**
     * Writes the address of the host data to {@code *data}, for reading and writing: as {@code syncedmem_cpu_data},
     * and the host is the newest side afterwards.
     */
    int syncedmem_mutable_cpu_data(Syncedmem mem, PointerByReference data);

    /** Writes the address of the host data to {@code *data}, for writing alone: neither zeroed nor copied. */
    int syncedmem_overwrite_cpu_data(Syncedmem mem, PointerByReference data);

    /**
     * Writes the address of the device data to {@code *data}, for reading: the mirror image of {@code
     * syncedmem_cpu_data}.
     */
    int syncedmem_gpu_data(Syncedmem mem, PointerByReference data);

    /**
     * Writes the address of the device data to {@code *data}, for reading and writing: the mirror image of {@code
     * syncedmem_mutable_cpu_data}.
     */
    int syncedmem_mutable_gpu_data(Syncedmem mem, PointerByReference data);

    /**
     * Writes the address of the device data to {@code *data}, for writing alone: the mirror image of {@code
     * syncedmem_overwrite_cpu_data}.
     */
    int syncedmem_overwrite_gpu_data(Syncedmem mem, PointerByReference data);

    /** Makes the caller's memory the host side, which is the newest afterwards. */
    int syncedmem_set_cpu_data(Syncedmem mem, Pointer data);

    /**
     * Makes the caller's device memory the device side, which is the newest afterwards: the mirror image of {@code
     * syncedmem_set_cpu_data}.
     */
    int syncedmem_set_gpu_data(Syncedmem mem, Pointer data);

    /** Gives back the host block while the device holds the newest data. */
    int syncedmem_release_cpu(Syncedmem mem);

    /**
     * Gives back the device block while the host holds the newest data: the mirror image of {@code
     * syncedmem_release_cpu}.
     */
    int syncedmem_release_gpu(Syncedmem mem);

    /**
     * Starts a copy from the host to the device on {@code stream} and returns: the head is SYNCED at once, and the
     * caller synchronises the stream before using the device data.
     */
    int syncedmem_async_gpu_push(Syncedmem mem, CUstream stream);

    /** Starts a copy from the device to the host on {@code stream} and returns. */
    int syncedmem_async_cpu_pull(Syncedmem mem, CUstream stream);

    /**
     * Declares that the work that {@code stream} has now may be using the object's device block and its page-locked
     * host block: when the object gives them back, they are not handed to another before that work is done.
     */
    int syncedmem_record_stream(Syncedmem mem, CUstream stream);

    /**
     * Makes what {@code stream} is given from now on wait for what the library has started on the object's device
     * side: fills and copies are ordered on the legacy default stream, which streams that do not block ({@code
     * cudaStreamNonBlocking}) do not wait for by themselves.
     */
    int syncedmem_stream_wait(Syncedmem mem, CUstream stream);

    /** Waits until the object has nothing in flight. */
    int syncedmem_wait(Syncedmem mem);

    /** Writes to {@code *ready} whether the object has nothing in flight (any more). */
    int syncedmem_is_ready(Syncedmem mem, ByteByReference ready);

    /** Says what the library may give back of the object when memory runs out: a {@code syncedmem_eviction_t}. */
    int syncedmem_set_evictable(Syncedmem mem, int how);

    /** Writes what the library may give back of the object to {@code *how}. */
    int syncedmem_get_evictable(Syncedmem mem, IntByReference how);

    /** Ends an access: one address that was handed out is not used any more. */
    int syncedmem_end_access(Syncedmem mem);

    /**
     * Makes a side of the object ready for an access, and writes a tensor of its memory to {@code *tensor}, for a
     * library that knows DLPack: a new {@code DLManagedTensorVersioned *} (of version 1.0), or, where {@code
     * versioned} is false, a {@code DLManagedTensor *}, as consumers from before DLPack 1.0 want it.
     */
    int syncedmem_to_dlpack(
            Syncedmem mem,
            int side,
            int access,
            byte type_code,
            byte type_bits,
            int ndim,
            long[] shape,
            boolean versioned,
            PointerByReference tensor);

    /**
     * Lends a tensor's memory to the object, whose side of it is the newest afterwards: as {@code
     * syncedmem_set_cpu_data} where it is on the CPU, as {@code syncedmem_set_gpu_data} where it is on a CUDA device.
     * {@code tensor} is a {@code DLManagedTensorVersioned *}, or, where {@code versioned} is false, a {@code
     * DLManagedTensor *}.
     */
    int syncedmem_set_dlpack(Syncedmem mem, Pointer tensor, boolean versioned);

    /**
     * Writes how many tensors of the object's host side and of its device side ({@code syncedmem_to_dlpack}) are in
     * use.
     */
    int syncedmem_exports(Syncedmem mem, LongByReference host, LongByReference device);

    /**
     * For Python: what to give to CPython's {@code PyCapsule_New} as the destructor of a capsule with a tensor of
     * {@code syncedmem_to_dlpack}, whose name is "dltensor_versioned" or "dltensor".
     */
    void syncedmem_end_capsule(Pointer capsule);

    /**
     * Writes the ordinal of the device that holds the object's device block to {@code *ordinal}; -1 if it has none,
     * or the driver does not know the memory that was given with {@code syncedmem_set_gpu_data}.
     */
    int syncedmem_device_ordinal(Syncedmem mem, IntByReference ordinal);

    /**
     * Writes to {@code *pinned} whether the object has host memory that this library page-locked: a block that was
     * made so, or memory of {@code syncedmem_pin}.
     */
    int syncedmem_is_pinned(Syncedmem mem, ByteByReference pinned);

    /**
     * Writes to {@code *owns} whether the object has a host block that it frees: not one that was given with {@code
     * syncedmem_set_cpu_data}, nor, for size 0, the address that stands for no bytes.
     */
    int syncedmem_owns_cpu(Syncedmem mem, ByteByReference owns);

    /**
     * Writes to {@code *owns} whether the object has a device block that it frees: not one that was given with {@code
     * syncedmem_set_gpu_data}.
     */
    int syncedmem_owns_gpu(Syncedmem mem, ByteByReference owns);

    /**
     * Page-locks the object's host memory where it is: what {@code syncedmem_set_cpu_data} lent, or a pageable block
     * of its own.
     */
    int syncedmem_pin(Syncedmem mem);

    /**
     * Undoes {@code syncedmem_pin}, after what the object has in flight and what runs in the context that was current
     * then.
     */
    int syncedmem_unpin(Syncedmem mem);

    /**
     * Gives the idle blocks of a kind of memory, a {@code syncedmem_memory_t}, back to the system or the driver.
     */
    int syncedmem_trim(int memory);

    /**
     * Writes how many bytes of a kind of memory, a {@code syncedmem_memory_t}, lie idle now to {@code *bytes}.
     */
    int syncedmem_idle_bytes(int memory, LongByReference bytes);

    /** Says whether blocks that objects give back are kept for the next object from now on. */
    int syncedmem_set_pools(boolean on);

    /** Writes to {@code *on} whether blocks are kept for the next object. */
    int syncedmem_get_pools(ByteByReference on);

    /**
     * Says how many bytes of one kind of memory, a {@code syncedmem_memory_t}, may lie idle at most; 0 keeps none.
     */
    int syncedmem_set_pool_budget(int memory, long bytes);

    /**
     * Writes how many bytes of one kind of memory, a {@code syncedmem_memory_t}, may lie idle to {@code *bytes}; for
     * device memory, as long as no number was given, what may on the device where most may.
     */
    int syncedmem_get_pool_budget(int memory, LongByReference bytes);

    /** Says for how many seconds a pageable block may lie idle before it is given back. */
    int syncedmem_set_pool_age(double seconds);

    /** Writes for how many seconds a pageable block may lie idle to {@code *seconds}. */
    int syncedmem_get_pool_age(DoubleByReference seconds);

    /** Says how many bytes this library may page-lock in all: for objects, idle, and registered in place. */
    int syncedmem_set_pinned_limit(long bytes);

    /** Writes how many bytes may be page-locked in all to {@code *bytes}. */
    int syncedmem_get_pinned_limit(LongByReference bytes);

    /**
     * Says when device and page-locked blocks that are given back from now on are handed out again: a {@code
     * syncedmem_reuse_t}.
     */
    int syncedmem_set_reuse(int reuse);

    /** Writes the {@code syncedmem_reuse_t} in force to {@code *reuse}. */
    int syncedmem_get_reuse(IntByReference reuse);

    /** Says what {@code Caffe::mode()} is taken to be: a {@code syncedmem_mode_t}. */
    int syncedmem_set_mode(int mode);

    /** Writes the {@code syncedmem_mode_t} in force to {@code *mode}. */
    int syncedmem_get_mode(IntByReference mode);

    /**
     * Registers what is asked for {@code Caffe::mode()} instead of looking into the process's Caffe; NULL for
     * nothing.
     */
    int syncedmem_set_mode_callback(ModeCallback callback, Pointer user);

    /** Says when host memory is page-locked from now on: a {@code syncedmem_pinning_t}. */
    int syncedmem_set_pinning(int pinning);

    /** Writes the {@code syncedmem_pinning_t} in force to {@code *pinning}. */
    int syncedmem_get_pinning(IntByReference pinning);

    /** Says what failures in C++ entry points do from now on: a {@code syncedmem_error_policy_t}. */
    int syncedmem_set_error_policy(int policy);

    /** Writes the {@code syncedmem_error_policy_t} in force to {@code *policy}. */
    int syncedmem_get_error_policy(IntByReference policy);

    /**
     * Registers what is called when a C++ entry point fails, before the error policy is followed; NULL for nothing.
     */
    int syncedmem_set_error_callback(ErrorCallback callback, Pointer user);

    /** Says what is accounted for from now on, a {@code syncedmem_accounting_t}. */
    int syncedmem_set_accounting(int accounting);

    /** Writes to {@code *accounting} what is accounted for. */
    int syncedmem_get_accounting(IntByReference accounting);

    /**
     * Says whether the host's contents are compared when they are copied, which shows copies and fills that changed
     * nothing.
     */
    int syncedmem_set_compare(boolean on);

    /** Writes to {@code *on} whether the host's contents are compared. */
    int syncedmem_get_compare(ByteByReference on);

    /** Makes what objects hold now the most that they held: the peaks of every kind of memory begin anew. */
    int syncedmem_reset_peaks();

    /**
     * Writes the report of this process: how much memory there is and was at the peak, who held it, what was copied,
     * and what could be spared.
     */
    int syncedmem_report(byte[] text, long capacity, LongByReference length);

    /** Gives an object a name, which is copied: its memory is told under it in reports and traces. */
    int syncedmem_set_name(Syncedmem mem, String name);

    /** Writes the name of an object, as {@code syncedmem_report} writes its text; an empty one if it has none. */
    int syncedmem_get_name(Syncedmem mem, byte[] text, long capacity, LongByReference length);

    /**
     * Writes what was accounted for so far to {@code *stats}, whose {@code size} the caller has set to {@code
     * sizeof(syncedmem_stats_t)}: as many bytes of it as the library knows, and that many is its {@code size} then.
     */
    int syncedmem_stats(Stats stats);

    /**
     * Begins to write what memory does to a file, from now on: as Chrome's trace events, which Perfetto opens, or,
     * where the name ends in {@code .csv}, in the columns of RMM's log. {@code %p} in the name becomes the number of
     * the process.
     */
    int syncedmem_trace_start(String file);

    /** Ends the trace, if one is being written. */
    int syncedmem_trace_stop();

    /**
     * Allocates {@code size} bytes of host memory, aligned to 64, with any contents: writes the address to {@code
     * *ptr} and whether the memory is page-locked to {@code *use_cuda}.
     */
    int CaffeMallocHost(PointerByReference ptr, long size, ByteByReference use_cuda);

    /**
     * Frees what {@code CaffeMallocHost}, {@code malloc()} or {@code cudaMallocHost} returned; {@code use_cuda} is
     * what the first wrote, false for {@code malloc()}, true for {@code cudaMallocHost}.
     */
    int CaffeFreeHost(Pointer ptr, boolean use_cuda);
}

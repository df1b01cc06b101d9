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

    /** The major version of this header. */
    int SYNCEDMEM_VERSION_MAJOR = 0;

    /** The minor version of this header. */
    int SYNCEDMEM_VERSION_MINOR = 1;

    /** The patch version of this header. */
    int SYNCEDMEM_VERSION_PATCH = 0;

    /** Minimum size of the storage for {@code syncedmem_construct}, in bytes. */
    int SYNCEDMEM_STORAGE_BYTES = 32;

    /** Minimum alignment of that storage, in bytes. */
    int SYNCEDMEM_STORAGE_ALIGNMENT = 8;

    /** Maximum length of an object's name, in bytes. */
    int SYNCEDMEM_NAME_BYTES = 200;

    /** The most axes of a blob. */
    int SYNCEDMEM_BLOB_MAX_AXES = 32;

    /** Bytes for the text of any shape. */
    int SYNCEDMEM_BLOB_SHAPE_STRING_BYTES = 384;

    /** The most dimensions of a tensor. */
    int SYNCEDMEM_TENSOR_MOST_DIMENSIONS = 64;

    /** The outcome of a call. */
    enum Status {
        /** Done. */
        SUCCESS(0),
        /** An argument cannot be used: NULL, misaligned, too small, or an unknown number. */
        ERROR_INVALID_ARGUMENT(1),
        /** The handle is not that of a live object. */
        ERROR_INVALID_HANDLE(2),
        /** Host or device memory ran out, or the size is impossible. */
        ERROR_OUT_OF_MEMORY(3),
        /** No GPU can be used; the message says why. */
        ERROR_NO_GPU(4),
        /** The object's head does not allow the call. */
        ERROR_INVALID_STATE(5),
        /**
         * The calling thread is inside an operation on the same object, or a signal handler has interrupted it at a
         * lock that the call needs.
         */
        ERROR_REENTERED(6),
        /** A bug of the library. */
        ERROR_INTERNAL(7),
        /** A call of the CUDA driver failed; the message names the call and its status. */
        ERROR_DRIVER(8),
        /** A driver call returned the error of an earlier kernel or copy of this process. */
        ERROR_PENDING(9),
        /** The device check is on, and the current device is not the one that holds the data. */
        ERROR_WRONG_DEVICE(10),
        /** A file cannot be opened, read or written. */
        ERROR_FILE(11),
        /** The call would take away memory that tensors use. */
        ERROR_EXPORTED(12),
        /** The file is damaged, cut off, or of another format. */
        ERROR_FORMAT(13),
        /** This library does not do it; the message says what does. */
        ERROR_UNSUPPORTED(14);

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

    /** Where the newest data is. */
    enum Head {
        /** Neither side was accessed. */
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

    /** What may be evicted of an object when memory runs out. */
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

    /** A side of an object. */
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

    /** What an access does with the data of a side. */
    enum Access {
        /** Reads it, as {@code syncedmem_cpu_data}. */
        READ(0),
        /** Reads and writes it, as {@code syncedmem_mutable_cpu_data}. */
        WRITE(1),
        /** Writes all of it and reads nothing, as {@code syncedmem_overwrite_cpu_data}. */
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
        /** Pageable host memory. */
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

    /** When a device or page-locked block is reused: work on the device may still use it. */
    enum Reuse {
        /** After its context was synchronized. */
        REUSE_SYNCHRONISED(0),
        /**
         * After the work that the legacy default stream had when the block was given back, and work declared with
         * {@code syncedmem_record_stream}.
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

    /** The mode assumed for {@code Caffe::mode()}. */
    enum Mode {
        /** That of the Caffe in the process. */
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

    /** When host memory is page-locked, if it can be. */
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

    /** What a failed C++ entry point does after its report. */
    enum ErrorPolicy {
        /** {@code abort()}, as Caffe did. */
        ON_ERROR_ABORT(0),
        /**
         * Throws {@code std::bad_alloc} if memory ran out, else {@code std::runtime_error}, of the caller's C++
         * runtime (libstdc++ or libc++).
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
        /** Nothing, at no cost. */
        ACCOUNTING_OFF(0),
        /** Objects, blocks, fills and copies. */
        ACCOUNTING_ON(1),
        /** Accesses to current data too, at some tens of nanoseconds each. */
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

    /** The type of the elements of a blob, a tensor, or an array in a model file. */
    enum Type {
        /** IEEE 754 binary32: {@code float}. */
        FLOAT32(0),
        /** IEEE 754 binary64: {@code double}. */
        FLOAT64(1),
        /** IEEE 754 binary16. */
        FLOAT16(2),
        /** {@code int8_t}. */
        INT8(3),
        /** {@code uint8_t}. */
        UINT8(4),
        /** {@code int16_t}. */
        INT16(5),
        /** {@code uint16_t}. */
        UINT16(6),
        /** {@code int32_t}. */
        INT32(7),
        /** {@code uint32_t}. */
        UINT32(8),
        /** {@code int64_t}. */
        INT64(9),
        /** One byte, 0 or 1. */
        BOOL(10);

        /** C's number for it. */
        public final int value;

        Type(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Type of(int value) {
            for (Type each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_type_t");
        }
    }

    /** An array of a blob. */
    enum Array {
        /** The values. */
        DATA(0),
        /** Their gradients. */
        DIFF(1);

        /** C's number for it. */
        public final int value;

        Array(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static Array of(int value) {
            for (Array each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_array_t");
        }
    }

    /** What a model file holds. */
    enum ModelKind {
        /** A net: {@code .caffemodel}. */
        MODEL_NET(0),
        /** One blob: {@code .binaryproto}, such as a mean image. */
        MODEL_BLOB(1),
        /** A list of blobs: {@code .binaryproto}. */
        MODEL_BLOBS(2),
        /** The state of a solver: {@code .solverstate}. */
        MODEL_SOLVER_STATE(3),
        /** Caffe2's weights: {@code init_net.pb}. */
        MODEL_INIT_NET(4);

        /** C's number for it. */
        public final int value;

        ModelKind(int value) {
            this.value = value;
        }

        /** The one that has this number. */
        public static ModelKind of(int value) {
            for (ModelKind each : values()) {
                if (each.value == value) {
                    return each;
                }
            }
            throw new IllegalArgumentException(value + " is no syncedmem_model_kind_t");
        }
    }

    /** A {@code caffe::SyncedMemory}. */
    final class Syncedmem extends PointerType {
        /** NULL. */
        public Syncedmem() {}

        /** The one at this address. */
        public Syncedmem(Pointer address) {
            super(address);
        }
    }

    /** What {@code CUstream} and {@code cudaStream_t} point to. */
    final class CUstream extends PointerType {
        /** NULL. */
        public CUstream() {}

        /** The one at this address. */
        public CUstream(Pointer address) {
            super(address);
        }
    }

    /** A blob. */
    final class Blob extends PointerType {
        /** NULL. */
        public Blob() {}

        /** The one at this address. */
        public Blob(Pointer address) {
            super(address);
        }
    }

    /** A tensor. */
    final class Tensor extends PointerType {
        /** NULL. */
        public Tensor() {}

        /** The one at this address. */
        public Tensor(Pointer address) {
            super(address);
        }
    }

    /** Caffe2's {@code Blob}. */
    final class TypedBlob extends PointerType {
        /** NULL. */
        public TypedBlob() {}

        /** The one at this address. */
        public TypedBlob(Pointer address) {
            super(address);
        }
    }

    /** Named blobs, over those of a parent. */
    final class Workspace extends PointerType {
        /** NULL. */
        public Workspace() {}

        /** The one at this address. */
        public Workspace(Pointer address) {
            super(address);
        }
    }

    /** A model file that is open. */
    final class Model extends PointerType {
        /** NULL. */
        public Model() {}

        /** The one at this address. */
        public Model(Pointer address) {
            super(address);
        }
    }

    /** Operations, their bytes and time. */
    @Structure.FieldOrder({
        "count",
        "bytes",
        "nanoseconds",
    })
    final class Sum extends Structure {
        /** Number of operations. */
        public long count;
        /** Bytes in all. */
        public long bytes;
        /** Nanoseconds in all; 0 where time is not measured. */
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
        /** Held by objects now, without the page-locked slots of staged copies. */
        public long live;
        /** Maximum of {@code live} since accounting began, or since {@code syncedmem_reset_peaks}. */
        public long peak;
        /** Kept idle for later objects. */
        public long idle;
        /** Maximum that may be idle. */
        public long budget;
        /** Blocks from the system or the driver. */
        public Sum allocations;
        /** Blocks from the pool. */
        public Sum pool_hits;
        /** Blocks that objects gave back. */
        public Sum frees;
        /** Blocks that a budget did not allow to keep idle, or to page-lock. */
        public Sum turned_away;
    }

    /** The account so far. */
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
        /** {@code sizeof(syncedmem_stats_t)} before the call, then the bytes written. */
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
        /** Host sides filled with zeros. */
        public Sum host_fills;
        /** Device sides filled with zeros. */
        public Sum device_fills;
        /** Waits for copies in flight. */
        public Sum waits;
        /** Contexts synchronized before a block was reused, evicted or unlocked. */
        public Sum synchronises;
        /** Page-locking in place. */
        public Sum registrations;
        /** Evicted host sides. */
        public Sum host_evictions;
        /** Evicted device sides. */
        public Sum device_evictions;
        /** Failed host allocations. */
        public Sum host_failures;
        /** Failed device allocations. */
        public Sum device_failures;
        /** Objects made. */
        public long objects_made;
        /** Those of them that were first seen at an access. */
        public long objects_unseen;
        /** Objects ended. */
        public long objects_ended;
        /**
         * Accesses to the host for reading: those that allocated, filled or copied, or all, if every access is
         * counted.
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
         * Not counted: for lack of memory, because of a signal handler, or, of accesses, because another thread held
         * the account for longer than 0.1 seconds.
         */
        public long dropped;
    }

    /** See {@code syncedmem_set_host_allocator}. */
    @Structure.FieldOrder({
        "size",
        "allocate",
        "release",
        "context",
        "zeroed",
    })
    final class HostAllocator extends Structure {
        /** Set by the caller to {@code sizeof(syncedmem_host_allocator_t)}. */
        public long size;
        /** Makes a block. */
        public Allocate allocate;
        /** Takes a block back. */
        public Release release;
        /** Given to both; may be NULL. */
        public Pointer context;
        /** Whether new blocks hold zeros: the library then does not fill them. */
        public boolean zeroed;
    }

    /** The type of a tensor's items, or of a blob's value. */
    @Structure.FieldOrder({
        "id",
        "name",
        "itemsize",
        "construct",
        "destruct",
        "copy",
    })
    final class Typemeta extends Structure {
        /** Unique to the type, such as the address of a static of its own. */
        public Pointer id;
        /** UTF-8, valid as long as anything is of the type. */
        public String name;
        /** Bytes of one item. */
        public long itemsize;
        /** NULL: new items are bytes of zero. */
        public Construct construct;
        /** NULL: items need no end. */
        public Destruct destruct;
        /** NULL: items are copied as bytes, or not at all beside one of the other functions. */
        public Copy copy;
    }

    /** A tensor. */
    @Structure.FieldOrder({
        "meta",
        "dims",
        "changes",
        "size",
        "nbytes",
        "capacity_nbytes",
        "ndim",
        "side",
        "shares_data",
    })
    final class TensorInfo extends Structure {
        /** The type; its {@code id} is NULL before the first mutable data. */
        public Typemeta meta;
        /** Valid until the dimensions change. */
        public Pointer dims;
        /** Another number after each change of the dimensions. */
        public long changes;
        /** Number of items; -1 without a shape. */
        public long size;
        /** Bytes of the items. */
        public long nbytes;
        /** Bytes of the memory. */
        public long capacity_nbytes;
        /** Number of dimensions. */
        public int ndim;
        /** A {@code syncedmem_side_t}. */
        public int side;
        /** Whether the memory came from another tensor or from the caller. */
        public boolean shares_data;
    }

    /** What a model file says beside its layers. */
    @Structure.FieldOrder({
        "size",
        "kind",
        "iter",
        "current_step",
        "name",
        "learned_net",
    })
    final class ModelInfo extends Structure {
        /** {@code sizeof(syncedmem_model_info_t)} before the call, then the bytes written. */
        public long size;
        /** A {@code syncedmem_model_kind_t}. */
        public int kind;
        /** Of a solver's state, the iteration; else 0. */
        public int iter;
        /** Of a solver's state, its learning rate's step; else 0. */
        public int current_step;
        /** The net's name, or empty. */
        public String name;
        /** Of a solver's state, the {@code .caffemodel} saved with it; else empty. */
        public String learned_net;
    }

    /** What a model file says about a blob. */
    @Structure.FieldOrder({
        "size",
        "element_type",
        "axes",
        "shape",
        "net_axes",
        "net_shape",
        "count",
        "has_diff",
        "diff_element_type",
    })
    final class BlobInfo extends Structure {
        /** {@code sizeof(syncedmem_blob_info_t)} before the call, then the bytes written. */
        public long size;
        /** How its values are stored: a {@code syncedmem_type_t}. */
        public int element_type;
        /** Number of dimensions of {@code shape}; 0 for a single value. */
        public int axes;
        /** The stored dimensions. */
        public Pointer shape;
        /** Number of dimensions of {@code net_shape}. */
        public int net_axes;
        /** The dimensions in the net: without the leading ones of files from before 2015. */
        public Pointer net_shape;
        /** Number of values. */
        public long count;
        /** Whether gradients are stored too. */
        public boolean has_diff;
        /** How they are stored: a {@code syncedmem_type_t}. */
        public int diff_element_type;
    }

    /** See {@code syncedmem_set_error_callback}. */
    interface ErrorCallback extends Callback {
        /** What C calls. */
        void invoke(int status, String message, Pointer user);
    }

    /**
     * Returns {@code Caffe::mode()} on the calling thread, 0 for CPU, 1 for GPU: see {@code
     * syncedmem_set_mode_callback}.
     */
    interface ModeCallback extends Callback {
        /** What C calls. */
        int invoke(Pointer user);
    }

    /** Returns a block of {@code bytes} (not 0) at a multiple of {@code alignment} (a power of two), or NULL. */
    interface Allocate extends Callback {
        /** What C calls. */
        Pointer invoke(long bytes, long alignment, Pointer context);
    }

    /** Takes back a block of the same table's {@code allocate}, with the same {@code bytes}. */
    interface Release extends Callback {
        /** What C calls. */
        void invoke(Pointer block, long bytes, Pointer context);
    }

    /** Makes {@code count} items at {@code items}, or returns false and has made none. */
    interface Construct extends Callback {
        /** What C calls. */
        boolean invoke(Pointer items, long count);
    }

    /** Ends {@code count} items at {@code items}. */
    interface Destruct extends Callback {
        /** What C calls. */
        void invoke(Pointer items, long count);
    }

    /**
     * Assigns {@code count} items at {@code source} to those at {@code target}, or returns false: each target then
     * holds its old or its new value.
     */
    interface Copy extends Callback {
        /** What C calls. */
        boolean invoke(Pointer source, Pointer target, long count);
    }

    /** Takes back what was lent or given with {@code context}: memory, or the value of a blob. */
    interface Deleter extends Callback {
        /** What C calls. */
        void invoke(Pointer pointer, Pointer context);
    }

    /**
     * Visits a blob of a workspace: its name there, its handle, held during the call, and the bytes of its tensor's
     * memory, 0 where a blob visited before has that too.
     */
    interface BlobVisitor extends Callback {
        /** What C calls. */
        void invoke(String name, TypedBlob blob, long bytes, Pointer context);
    }

    /**
     * The name of a {@code syncedmem_status_t}, such as "SYNCEDMEM_ERROR_NO_GPU"; "unknown status" for other numbers.
     */
    String syncedmem_status_name(int status);

    /** The sentence of the calling thread's last failed call; empty without one. */
    String syncedmem_last_error();

    /** The version of the running library, such as "1.2.3". */
    String syncedmem_version();

    /** Loads the CUDA driver, and returns {@code NO_GPU} if it cannot be used. */
    int syncedmem_cuda_status(PointerByReference sentence);

    /**
     * Switches the device check of Caffe's DEBUG builds: a call gives {@code WRONG_DEVICE} if another device than
     * that of the object's own device block is current.
     */
    int syncedmem_set_device_check(boolean on);

    /** Writes to {@code *on} whether the device check is on. */
    int syncedmem_get_device_check(ByteByReference on);

    /**
     * Writes to {@code *count} how many accesses that called the driver found another device current than that of the
     * data.
     */
    int syncedmem_device_mismatches(LongByReference count);

    /** Creates an object of {@code bytes} on each side, which may be 0, and writes its handle to {@code *mem}. */
    int syncedmem_create(long bytes, PointerByReference mem);

    /** Destroys an object of {@code syncedmem_create} and frees the memory it owns. */
    int syncedmem_destroy(Syncedmem mem);

    /**
     * As {@code syncedmem_create}, in the first 32 bytes of the caller's storage, whose address is the handle.
     */
    int syncedmem_construct(Pointer storage, long storage_bytes, long bytes, PointerByReference mem);

    /** Ends an object of {@code syncedmem_construct} and frees the memory it owns, but not its storage. */
    int syncedmem_destruct(Syncedmem mem);

    /** Writes to {@code *head} where the newest data is. */
    int syncedmem_head(Syncedmem mem, IntByReference head);

    /** Writes the size of each side, in bytes, to {@code *bytes}. */
    int syncedmem_size(Syncedmem mem, LongByReference bytes);

    /** Writes the address of the host data to {@code *data}, for reading. */
    int syncedmem_cpu_data(Syncedmem mem, PointerByReference data);

    /** As {@code syncedmem_cpu_data}, for reading and writing. */
    int syncedmem_mutable_cpu_data(Syncedmem mem, PointerByReference data);

    /**
     * As {@code syncedmem_mutable_cpu_data}, but neither fills nor copies: the contents are undefined, and the caller
     * writes all of them.
     */
    int syncedmem_overwrite_cpu_data(Syncedmem mem, PointerByReference data);

    /** As {@code syncedmem_cpu_data}, for the device data; NULL for size 0. */
    int syncedmem_gpu_data(Syncedmem mem, PointerByReference data);

    /** As {@code syncedmem_gpu_data}, for reading and writing. */
    int syncedmem_mutable_gpu_data(Syncedmem mem, PointerByReference data);

    /** As {@code syncedmem_overwrite_cpu_data}, for the device data. */
    int syncedmem_overwrite_gpu_data(Syncedmem mem, PointerByReference data);

    /** Makes the caller's memory the host side, then the newest. */
    int syncedmem_set_cpu_data(Syncedmem mem, Pointer data);

    /** As {@code syncedmem_set_cpu_data}, for the device side: memory of any device, or managed memory. */
    int syncedmem_set_gpu_data(Syncedmem mem, Pointer data);

    /** Frees the host block while the device holds the newest data. */
    int syncedmem_release_cpu(Syncedmem mem);

    /** As {@code syncedmem_release_cpu}, for the device block while the host holds the newest data. */
    int syncedmem_release_gpu(Syncedmem mem);

    /** Starts a copy on {@code stream} from the host to the device. */
    int syncedmem_async_gpu_push(Syncedmem mem, CUstream stream);

    /**
     * Starts a copy on {@code stream} from the device to the host, unless the host is current or such a copy is in
     * flight.
     */
    int syncedmem_async_cpu_pull(Syncedmem mem, CUstream stream);

    /**
     * Declares that work already in {@code stream} may use the object's device block and page-locked host block,
     * which are then not reused before that work is done.
     */
    int syncedmem_record_stream(Syncedmem mem, CUstream stream);

    /**
     * Makes later work of {@code stream} wait for the library's fills and copies of the object's device side, which
     * run on the legacy default stream: streams of {@code cudaStreamNonBlocking} do not wait for that by themselves.
     */
    int syncedmem_stream_wait(Syncedmem mem, CUstream stream);

    /** Waits for the object's copy in flight. */
    int syncedmem_wait(Syncedmem mem);

    /** Writes to {@code *ready} whether the object has no copy in flight. */
    int syncedmem_is_ready(Syncedmem mem, ByteByReference ready);

    /** Sets what may be evicted of the object: a {@code syncedmem_eviction_t}. */
    int syncedmem_set_evictable(Syncedmem mem, int how);

    /** Writes to {@code *how} what may be evicted of the object. */
    int syncedmem_get_evictable(Syncedmem mem, IntByReference how);

    /** Ends one access, whose address is not used any more. */
    int syncedmem_end_access(Syncedmem mem);

    /**
     * Prepares a side ({@code syncedmem_side_t}) for an access ({@code syncedmem_access_t}), and writes a new DLPack
     * tensor of its memory to {@code *tensor}: a {@code DLManagedTensorVersioned *} (version 1.0), or, without {@code
     * versioned}, a {@code DLManagedTensor *}.
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
     * Lends a tensor's memory to the object, as {@code syncedmem_set_cpu_data} does, or, on a CUDA device, {@code
     * syncedmem_set_gpu_data}. {@code tensor} is a {@code DLManagedTensorVersioned *}, or, without {@code versioned},
     * a {@code DLManagedTensor *}.
     */
    int syncedmem_set_dlpack(Syncedmem mem, Pointer tensor, boolean versioned);

    /** Writes how many tensors of the object's host side and of its device side are in use. */
    int syncedmem_exports(Syncedmem mem, LongByReference host, LongByReference device);

    /**
     * A destructor for CPython's {@code PyCapsule_New}, for capsules named "dltensor_versioned" or "dltensor" that
     * hold a tensor of {@code syncedmem_to_dlpack}.
     */
    void syncedmem_end_capsule(Pointer capsule);

    /**
     * Writes the ordinal of the device that holds the object's device block to {@code *ordinal}; -1 without a block,
     * or if the driver does not know memory of {@code syncedmem_set_gpu_data}.
     */
    int syncedmem_device_ordinal(Syncedmem mem, IntByReference ordinal);

    /**
     * Writes to {@code *pinned} whether this library page-locked the object's host memory, also by {@code
     * syncedmem_pin}.
     */
    int syncedmem_is_pinned(Syncedmem mem, ByteByReference pinned);

    /**
     * Writes to {@code *owns} whether the object has a host block that it frees: not for borrowed memory and size 0.
     */
    int syncedmem_owns_cpu(Syncedmem mem, ByteByReference owns);

    /** As {@code syncedmem_owns_cpu}, for the device block. */
    int syncedmem_owns_gpu(Syncedmem mem, ByteByReference owns);

    /**
     * Page-locks the object's host memory in place: memory of {@code syncedmem_set_cpu_data}, or a pageable block of
     * its own.
     */
    int syncedmem_pin(Syncedmem mem);

    /** Undoes {@code syncedmem_pin}, after a copy in flight. */
    int syncedmem_unpin(Syncedmem mem);

    /** Gives the idle blocks of a {@code syncedmem_memory_t} back to the system or the driver. */
    int syncedmem_trim(int memory);

    /** Writes the idle bytes of a {@code syncedmem_memory_t} to {@code *bytes}. */
    int syncedmem_idle_bytes(int memory, LongByReference bytes);

    /** Switches pools, which keep blocks that objects give back for the next one. */
    int syncedmem_set_pools(boolean on);

    /** Writes to {@code *on} whether pools are on. */
    int syncedmem_get_pools(ByteByReference on);

    /** Sets the most idle bytes of one {@code syncedmem_memory_t}, for device memory per device; 0 keeps none. */
    int syncedmem_set_pool_budget(int memory, long bytes);

    /**
     * Writes the budget of one {@code syncedmem_memory_t} to {@code *bytes}; for device memory without a set budget,
     * that of the device where it is largest.
     */
    int syncedmem_get_pool_budget(int memory, LongByReference bytes);

    /** Sets for how many seconds a pageable block may lie idle; by default 10. */
    int syncedmem_set_pool_age(double seconds);

    /** Writes to {@code *seconds} how long a pageable block may lie idle. */
    int syncedmem_get_pool_age(DoubleByReference seconds);

    /** Sets how many bytes this library may page-lock in all: for objects, idle, and in place. */
    int syncedmem_set_pinned_limit(long bytes);

    /** Writes to {@code *bytes} how many bytes may be page-locked in all. */
    int syncedmem_get_pinned_limit(LongByReference bytes);

    /**
     * Sets when device and page-locked blocks that are given back from now on are reused: a {@code
     * syncedmem_reuse_t}.
     */
    int syncedmem_set_reuse(int reuse);

    /** Writes the current {@code syncedmem_reuse_t} to {@code *reuse}. */
    int syncedmem_get_reuse(IntByReference reuse);

    /** Sets the mode assumed for {@code Caffe::mode()}: a {@code syncedmem_mode_t}. */
    int syncedmem_set_mode(int mode);

    /** Writes the current {@code syncedmem_mode_t} to {@code *mode}. */
    int syncedmem_get_mode(IntByReference mode);

    /** Registers a function that replaces the look into the process's Caffe; NULL removes it. */
    int syncedmem_set_mode_callback(ModeCallback callback, Pointer user);

    /** Sets when host memory is page-locked from now on: a {@code syncedmem_pinning_t}. */
    int syncedmem_set_pinning(int pinning);

    /** Writes the current {@code syncedmem_pinning_t} to {@code *pinning}. */
    int syncedmem_get_pinning(IntByReference pinning);

    /** Sets what failed C++ entry points do: a {@code syncedmem_error_policy_t}. */
    int syncedmem_set_error_policy(int policy);

    /** Writes the current {@code syncedmem_error_policy_t} to {@code *policy}. */
    int syncedmem_get_error_policy(IntByReference policy);

    /**
     * Registers a function that is called when a C++ entry point fails, before the error policy applies; NULL removes
     * it.
     */
    int syncedmem_set_error_callback(ErrorCallback callback, Pointer user);

    /** Sets what is accounted for from now on: a {@code syncedmem_accounting_t}. */
    int syncedmem_set_accounting(int accounting);

    /** Writes to {@code *accounting} what is accounted for. */
    int syncedmem_get_accounting(IntByReference accounting);

    /** Switches the comparison of host contents at copies, which finds copies and fills that changed nothing. */
    int syncedmem_set_compare(boolean on);

    /** Writes to {@code *on} whether host contents are compared. */
    int syncedmem_get_compare(ByteByReference on);

    /** Sets the peak of every kind of memory to what objects hold now. */
    int syncedmem_reset_peaks();

    /**
     * Writes a report of this process, several lines of UTF-8: memory now and at the peak, its ten largest holders,
     * and counts of operations.
     */
    int syncedmem_report(byte[] text, long capacity, LongByReference length);

    /** Names an object in reports and traces; the name is copied. */
    int syncedmem_set_name(Syncedmem mem, String name);

    /**
     * Notes for traces how many items of the batch an object holds: a report then says what one more item costs. 0,
     * the default: it does not grow with the batch.
     */
    int syncedmem_set_items(Syncedmem mem, long items);

    /** Writes an object's name, which may be empty, as {@code syncedmem_report} writes its text. */
    int syncedmem_get_name(Syncedmem mem, byte[] text, long capacity, LongByReference length);

    /** Writes the account so far to {@code *stats}: at most the bytes of its {@code size}. */
    int syncedmem_stats(Stats stats);

    /**
     * Starts to record every memory event in a file, which {@code syncedmem report} and {@code syncedmem export}
     * read. {@code %p} in the name becomes the process id.
     */
    int syncedmem_trace_start(String file);

    /** Ends the trace and marks it as whole. */
    int syncedmem_trace_stop();

    /** Makes later host blocks of all objects come from the program's functions; NULL: from the library again. */
    int syncedmem_set_host_allocator(HostAllocator allocator);

    /** Allocates {@code size} bytes of host memory, aligned to 64, with undefined contents. */
    int CaffeMallocHost(PointerByReference ptr, long size, ByteByReference use_cuda);

    /**
     * Frees memory of {@code CaffeMallocHost}, {@code malloc()} or {@code cudaMallocHost}. {@code use_cuda} is the
     * value that {@code CaffeMallocHost} wrote, false for {@code malloc()}, true for {@code cudaMallocHost}.
     */
    int CaffeFreeHost(Pointer ptr, boolean use_cuda);

    /**
     * Creates a blob without shape and memory, and writes its handle to {@code *blob}. {@code type} is a {@code
     * syncedmem_type_t}: {@code SYNCEDMEM_FLOAT32}, {@code SYNCEDMEM_FLOAT64}, {@code SYNCEDMEM_INT32} or {@code
     * SYNCEDMEM_UINT32}.
     */
    int syncedmem_blob_create(int type, PointerByReference blob);

    /** Destroys a blob. */
    int syncedmem_blob_destroy(Blob blob);

    /** Gives the blob the {@code axes} dimensions at {@code shape}. */
    int syncedmem_blob_reshape(Blob blob, long axes, long[] shape);

    /** Writes the type of the blob's elements to {@code *type}. */
    int syncedmem_blob_type(Blob blob, IntByReference type);

    /** Writes the number of axes to {@code *axes}. */
    int syncedmem_blob_axes(Blob blob, LongByReference axes);

    /** Writes the dimension of an axis to {@code *dim}. */
    int syncedmem_blob_shape(Blob blob, long axis, LongByReference dim);

    /**
     * Writes the dimension of a legacy axis to {@code *dim}: 0 is num, 1 channels, 2 height, 3 width, and -4 to -1
     * the same from the end.
     */
    int syncedmem_blob_legacy_shape(Blob blob, long axis, LongByReference dim);

    /**
     * Writes the number of elements of an array, the product of the dimensions, to {@code *count}; 0 without a shape.
     */
    int syncedmem_blob_count(Blob blob, LongByReference count);

    /**
     * Writes the product of the dimensions of the axes from {@code start} up to {@code end}, exclusive, to {@code
     * *count}; 1 of none.
     */
    int syncedmem_blob_count_axes(Blob blob, long start, long end, LongByReference count);

    /**
     * Writes the place of an element among the count to {@code *offset}. {@code indices} has one index for each axis;
     * missing ones at the end are 0.
     */
    int syncedmem_blob_offset(Blob blob, long length, long[] indices, LongByReference offset);

    /** As {@code syncedmem_blob_offset}, of four legacy indices. */
    int syncedmem_blob_legacy_offset(
            Blob blob,
            long num,
            long channels,
            long height,
            long width,
            LongByReference offset);

    /** Writes the shape to {@code text} as Caffe does, such as {@code 2 3 (6)}, with NUL at its end. */
    int syncedmem_blob_shape_string(Blob blob, byte[] text, long bytes);

    /** Writes to {@code *equals} whether the blob has the {@code axes} dimensions at {@code shape}. */
    int syncedmem_blob_shape_equals(Blob blob, long axes, long[] shape, boolean legacy, ByteByReference equals);

    /** Writes the size of an array's memory to {@code *bytes}; 0 without a shape. */
    int syncedmem_blob_capacity(Blob blob, int array, LongByReference bytes);

    /** Lends the memory of an array (see "Ownership" above) and writes it to {@code *mem}. */
    int syncedmem_blob_memory(Blob blob, int array, PointerByReference mem);

    /**
     * As {@code syncedmem_blob_memory}, and makes the caller one more owner, until {@code
     * syncedmem_blob_release_memory}.
     */
    int syncedmem_blob_hold_memory(Blob blob, int array, PointerByReference mem);

    /** Gives memory of {@code syncedmem_blob_hold_memory} up, once for each such call, on any thread. */
    int syncedmem_blob_release_memory(Syncedmem mem);

    /** Borrows the caller's memory as the host side of an array, then the newest. */
    int syncedmem_blob_set_cpu_data(Blob blob, int array, Pointer data);

    /** As {@code syncedmem_blob_set_cpu_data}, for the device side. */
    int syncedmem_blob_set_gpu_data(Blob blob, int array, Pointer data);

    /**
     * Uses the memory of {@code other}'s array for the same array of {@code blob}, until one of the two gets other
     * memory.
     */
    int syncedmem_blob_share(Blob blob, int array, Blob other);

    /**
     * Copies the elements of {@code source}'s array to the same array of {@code blob}, on the side where they are; if
     * on both, on the device.
     */
    int syncedmem_blob_copy_from(Blob blob, int array, Blob source, boolean reshape);

    /**
     * Writes the address of the dimensions in device memory, one {@code int} for each axis, to {@code *shape}; NULL
     * without axes.
     */
    int syncedmem_blob_gpu_shape(Blob blob, PointerByReference shape);

    /**
     * Subtracts the diff from the data, element by element, on the side where the data is; if on both, on the device.
     */
    int syncedmem_blob_update(Blob blob);

    /**
     * Writes the sum of an array's absolute values to {@code *sum}, computed where the array is; 0 if it was never
     * touched.
     */
    int syncedmem_blob_asum(Blob blob, int array, DoubleByReference sum);

    /** As {@code syncedmem_blob_asum}, for the sum of the squares. */
    int syncedmem_blob_sumsq(Blob blob, int array, DoubleByReference sum);

    /**
     * Multiplies the elements of an array by {@code factor}, rounded to their type, where the array is; nothing if it
     * was never touched.
     */
    int syncedmem_blob_scale(Blob blob, int array, double factor);

    /**
     * Writes to {@code *count} how many calls computed on the host, though the array was at the device, for lack of
     * cuBLAS.
     */
    int syncedmem_blob_computed_on_host(LongByReference count);

    /** Writes the type of a {@code syncedmem_type_t} to {@code *meta}. */
    int syncedmem_typemeta(int element, Typemeta meta);

    /** Writes the {@code syncedmem_type_t} of a type to {@code *element}. */
    int syncedmem_typemeta_element(Typemeta meta, IntByReference element);

    /** Writes the type of a blob's value that is a tensor of that side to {@code *meta}. */
    int syncedmem_tensor_typemeta(int side, Typemeta meta);

    /**
     * Creates a tensor of a side ({@code syncedmem_side_t}) without shape, type and memory, and writes its handle to
     * {@code *tensor}.
     */
    int syncedmem_tensor_create(int side, PointerByReference tensor);

    /** Makes one more holder of the tensor. */
    int syncedmem_tensor_retain(Tensor tensor);

    /** Ends one holder; the last one ends the tensor. */
    int syncedmem_tensor_destroy(Tensor tensor);

    /** Gives the tensor other dimensions; without any it is a scalar, of one item. */
    int syncedmem_tensor_resize(Tensor tensor, int ndim, long[] dims);

    /** As {@code syncedmem_tensor_resize}, with the dimensions of another tensor. */
    int syncedmem_tensor_resize_like(Tensor tensor, Tensor source);

    /** Gives the tensor other dimensions of as many items, which stay. */
    int syncedmem_tensor_reshape(Tensor tensor, int ndim, long[] dims);

    /** Makes the first dimension smaller. */
    int syncedmem_tensor_shrink(Tensor tensor, long outer);

    /** Makes room for the items of those dimensions. */
    int syncedmem_tensor_reserve(Tensor tensor, int ndim, long[] dims);

    /** Adds {@code more} to the first dimension. */
    int syncedmem_tensor_extend(Tensor tensor, long more, double growth_percent);

    /** Gives the memory up; other tensors that share it keep it. */
    int syncedmem_tensor_free_memory(Tensor tensor);

    /** Exchanges two tensors of the same side, all but their handles. */
    int syncedmem_tensor_swap(Tensor tensor, Tensor other);

    /**
     * Sets for the process whether a resized tensor keeps more memory than it needs, and how many unused bytes at
     * most.
     */
    int syncedmem_tensor_set_keep_on_shrink(boolean keep, long most_unused_bytes);

    /** Writes what {@code syncedmem_tensor_set_keep_on_shrink} has set. */
    int syncedmem_tensor_get_keep_on_shrink(ByteByReference keep, LongByReference most_unused_bytes);

    /**
     * Writes the address of the items to {@code *data}, for reading; NULL for a tensor without items that never had
     * memory.
     */
    int syncedmem_tensor_data(Tensor tensor, Typemeta meta, PointerByReference data);

    /**
     * As {@code syncedmem_tensor_data}, for reading and writing, as items of {@code meta}; NULL is the tensor's own
     * type.
     */
    int syncedmem_tensor_mutable_data(Tensor tensor, Typemeta meta, PointerByReference data);

    /** Writes the memory's {@code syncedmem_t} to {@code *mem}. */
    int syncedmem_tensor_memory(Tensor tensor, PointerByReference mem);

    /** Gives the tensor the type, the dimensions and a copy of the items of another one, of either side. */
    int syncedmem_tensor_copy_from(Tensor tensor, Tensor source);

    /**
     * Shares the memory of another tensor of the same side and number of items, and takes its type, until a resize
     * beyond the memory or {@code syncedmem_tensor_free_memory}.
     */
    int syncedmem_tensor_share_data(Tensor tensor, Tensor source);

    /**
     * Makes the tensor use the caller's memory at {@code pointer}, on the tensor's side, with items of {@code meta}.
     * {@code capacity} is its bytes; 0 for as many as the items need. {@code deleter} (NULL: none) is called with
     * {@code pointer} and {@code context} once no tensor uses the memory; not after an error.
     */
    int syncedmem_tensor_share_external(
            Tensor tensor,
            Pointer pointer,
            Typemeta meta,
            long capacity,
            Deleter deleter,
            Pointer context);

    /**
     * Makes the tensor use the memory of a tensor of DLPack on its side, as {@code syncedmem_set_dlpack} borrows it,
     * with items of {@code meta}.
     */
    int syncedmem_tensor_share_dlpack(Tensor tensor, Typemeta meta, Pointer dlpack, boolean versioned);

    /** Writes to {@code *info} what the tensor is. */
    int syncedmem_tensor_info(Tensor tensor, TensorInfo info);

    /** Writes to {@code *is} whether the tensor is of that type. */
    int syncedmem_tensor_is_type(Tensor tensor, Typemeta meta, ByteByReference is);

    /** Writes the dimension of an axis, counted from 0, to {@code *dim}. */
    int syncedmem_tensor_dim(Tensor tensor, int axis, LongByReference dim);

    /** As {@code syncedmem_tensor_dim}, in 32 bits. */
    int syncedmem_tensor_dim32(Tensor tensor, int axis, IntByReference dim);

    /** Writes the product of the dimensions from {@code axis} on to {@code *size}; 1 behind the last one. */
    int syncedmem_tensor_size_from_dim(Tensor tensor, int axis, LongByReference size);

    /** Writes the product of the dimensions before {@code axis} to {@code *size}. */
    int syncedmem_tensor_size_to_dim(Tensor tensor, int axis, LongByReference size);

    /**
     * Writes the product of the dimensions between two axes in either order, without theirs, to {@code *size}.
     */
    int syncedmem_tensor_size_between_dim(Tensor tensor, int axis, int other, LongByReference size);

    /**
     * Writes the number of an axis from the start to {@code *canonical}; a negative {@code axis} counts from the end.
     */
    int syncedmem_tensor_canonical_axis_index(Tensor tensor, int axis, IntByReference canonical);

    /** Writes a line about the tensor, as {@code syncedmem_report} writes its text. */
    int syncedmem_tensor_debug_string(Tensor tensor, byte[] text, long capacity, LongByReference length);

    /** Creates an empty blob and writes its handle to {@code *blob}. */
    int syncedmem_typed_blob_create(PointerByReference blob);

    /** Makes one more holder of the blob. */
    int syncedmem_typed_blob_retain(TypedBlob blob);

    /** Ends one holder; the last one ends the blob and its value. */
    int syncedmem_typed_blob_destroy(TypedBlob blob);

    /** Writes the type of the value to {@code *meta}; its {@code id} is NULL for an empty blob. */
    int syncedmem_typed_blob_meta(TypedBlob blob, Typemeta meta);

    /** Writes to {@code *is} whether the value is of that type. */
    int syncedmem_typed_blob_is_type(TypedBlob blob, Typemeta meta, ByteByReference is);

    /** Writes the address of the value to {@code *value}. */
    int syncedmem_typed_blob_get(TypedBlob blob, Typemeta meta, PointerByReference value);

    /** Writes the address of a value of that type to {@code *value}. */
    int syncedmem_typed_blob_get_mutable(
            TypedBlob blob,
            Typemeta meta,
            ByteByReference is_new,
            PointerByReference value);

    /**
     * Gives the blob a value of the caller's, and ends the old one. {@code deleter} is called with {@code value} and
     * {@code context} at the end; without one (NULL) the value stays the caller's.
     */
    int syncedmem_typed_blob_reset(
            TypedBlob blob,
            Pointer value,
            Typemeta meta,
            Deleter deleter,
            Pointer context);

    /**
     * Makes the value the caller's, and writes its address to {@code *value}; NULL for an empty blob. {@code deleter}
     * and {@code context} may be NULL: they receive the function that ends the value (a {@code syncedmem_deleter_t},
     * or NULL) and its context.
     */
    int syncedmem_typed_blob_release(
            TypedBlob blob,
            PointerByReference value,
            PointerByReference deleter,
            PointerByReference context);

    /** Exchanges the values of two blobs. */
    int syncedmem_typed_blob_swap(TypedBlob blob, TypedBlob other);

    /** Writes a handle of the tensor that is the value, of either side, to {@code *tensor}. */
    int syncedmem_typed_blob_get_tensor(TypedBlob blob, PointerByReference tensor);

    /** As {@code syncedmem_typed_blob_get_tensor}, of a tensor of that side ({@code syncedmem_side_t}). */
    int syncedmem_typed_blob_get_mutable_tensor(
            TypedBlob blob,
            int side,
            ByteByReference is_new,
            PointerByReference tensor);

    /** Makes a tensor the value: the blob holds it too, and ends the old value. */
    int syncedmem_typed_blob_set_tensor(TypedBlob blob, Tensor tensor);

    /** Creates an empty workspace and writes its handle to {@code *workspace}. */
    int syncedmem_workspace_create(Workspace parent, PointerByReference workspace);

    /** Makes one more holder of the workspace. */
    int syncedmem_workspace_retain(Workspace workspace);

    /** Ends one holder; the last one ends the workspace, but not blobs that are held elsewhere. */
    int syncedmem_workspace_destroy(Workspace workspace);

    /**
     * Writes a handle of the blob of that name to {@code *blob}: this workspace's, a mapping's or a parent's, or else
     * a new empty one of this workspace.
     */
    int syncedmem_workspace_create_blob(Workspace workspace, String name, PointerByReference blob);

    /**
     * As {@code syncedmem_workspace_create_blob}, of this workspace itself: the blob hides a mapping's or a parent's.
     */
    int syncedmem_workspace_create_local_blob(Workspace workspace, String name, PointerByReference blob);

    /** As {@code syncedmem_workspace_create_blob}, but writes NULL if there is no such blob. */
    int syncedmem_workspace_get_blob(Workspace workspace, String name, PointerByReference blob);

    /** Writes to {@code *has} whether {@code syncedmem_workspace_get_blob} finds a blob. */
    int syncedmem_workspace_has_blob(Workspace workspace, String name, ByteByReference has);

    /**
     * Removes a blob of this workspace itself, which other holders keep, and writes to {@code *removed}, which may be
     * NULL, whether there was one.
     */
    int syncedmem_workspace_remove_blob(Workspace workspace, String name, ByteByReference removed);

    /**
     * Gives a blob of this workspace itself a new name, and writes a handle of it to {@code *blob}, which may be
     * NULL.
     */
    int syncedmem_workspace_rename_blob(
            Workspace workspace,
            String name,
            String new_name,
            PointerByReference blob);

    /** Makes the blob {@code name} of another workspace visible here as {@code new_name}. */
    int syncedmem_workspace_add_blob_mapping(
            Workspace workspace,
            String new_name,
            Workspace other,
            String name,
            boolean skip_defined);

    /**
     * Calls {@code visitor} with each visible blob, or, if {@code local}, with each of this workspace itself, sorted
     * by name.
     */
    int syncedmem_workspace_blobs(Workspace workspace, boolean local, BlobVisitor visitor, Pointer context);

    /**
     * Attaches {@code pointer} to the tensor, unless something is attached, and writes what is attached to {@code
     * *attached}.
     */
    int syncedmem_tensor_attach(
            Tensor tensor,
            Pointer pointer,
            Deleter deleter,
            Pointer context,
            PointerByReference attached);

    /** As {@code syncedmem_tensor_attach}, for a blob. */
    int syncedmem_typed_blob_attach(
            TypedBlob blob,
            Pointer pointer,
            Deleter deleter,
            Pointer context,
            PointerByReference attached);

    /**
     * Allocates {@code bytes} of host memory, zeros aligned to 64 bytes, and writes its address to {@code *data}.
     */
    int syncedmem_cpu_new(long bytes, PointerByReference data);

    /** Frees memory of {@code syncedmem_cpu_new}. */
    void syncedmem_cpu_delete(Pointer data);

    /**
     * Switches Caffe2's report, off at first: a line on standard error for each block that a tensor allocates or
     * frees, with the bytes of all memory in the library's account, which is switched on too.
     */
    int syncedmem_tensor_report_allocations(boolean on);

    /**
     * Reads an {@code init_net.pb} into tensors of the host, without a copy in between: each becomes the value of the
     * blob of its name, which is created where the workspace has none.
     */
    int syncedmem_workspace_load_init_net(Workspace workspace, String path);

    /** Opens a model file, and writes the model's handle to {@code *model}. */
    int syncedmem_model_open(String path, PointerByReference model);

    /** Closes a model and its file. */
    int syncedmem_model_close(Model model);

    /** Writes to {@code *info} what the file says beside its layers. */
    int syncedmem_model_info(Model model, ModelInfo info);

    /** Writes the number of layers to {@code *count}. */
    int syncedmem_model_layer_count(Model model, LongByReference count);

    /** Writes a layer's name, its type as Caffe has named it since 2015, and its number of blobs. */
    int syncedmem_model_layer(
            Model model,
            long layer,
            PointerByReference name,
            PointerByReference type_name,
            LongByReference blobs);

    /** Writes to {@code *info} what the file says about a blob. */
    int syncedmem_model_blob_info(Model model, long layer, long blob, BlobInfo info);

    /**
     * Reads a blob's values ({@code SYNCEDMEM_DATA}) or gradients ({@code SYNCEDMEM_DIFF}) into the host side of
     * {@code mem}, then the newest. {@code element_type} is a {@code syncedmem_type_t}: {@code SYNCEDMEM_FLOAT32},
     * {@code SYNCEDMEM_FLOAT64}, or the stored type, for which nothing is converted or copied in between.
     */
    int syncedmem_model_read_blob(
            Model model,
            long layer,
            long blob,
            int array,
            int element_type,
            Syncedmem mem);

    /** Gives {@code blob} the shape, the data and, if any, the diff of a {@code .binaryproto} of one blob. */
    int syncedmem_blob_read(Blob blob, String path);

    /**
     * Writes the shape and the data of {@code blob}, and with {@code diff} its diff, to a {@code .binaryproto}.
     */
    int syncedmem_blob_write(Blob blob, boolean diff, String path);
}

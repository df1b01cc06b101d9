// The TypeScript declarations of syncedmem.js. SPDX-License-Identifier: BSD-2-Clause

/** The library refused: C's status, its name as the code, and the library's sentence. */
export class SyncedmemError extends Error {
  constructor(status: number, sentence: string);
  readonly status: number;
  readonly code: string;
}

/** Host or device memory ran out. */
export class OutOfMemoryError extends SyncedmemError {}

/** An address on the device: valid until this is closed, or forgotten. */
export class DeviceData {
  private constructor();
  readonly address: bigint;
  readonly bytes: number;
  close(): void;
}

export type Head = 'UNINITIALIZED' | 'HEAD_AT_CPU' | 'HEAD_AT_GPU' | 'SYNCED';

/** Memory with a host side and a device side, copied only when the other is newer. */
export class SyncedMemory {
  constructor(bytes: number);
  readonly size: number;
  readonly head: Head;
  readonly exports: { host: number; device: number };
  cpuData(offset?: number, bytes?: number): ArrayBuffer;
  mutableCpuData(offset?: number, bytes?: number): ArrayBuffer;
  overwriteCpuData(offset?: number, bytes?: number): ArrayBuffer;
  gpuData(): DeviceData;
  mutableGpuData(): DeviceData;
  overwriteGpuData(): DeviceData;
  setName(name: string): void;
  call(body: (handle: bigint) => number): void;
  close(): void;
  toString(): string;
}

/** A function of the C API: what C writes through a pointer, an array of one takes. */
export interface Call {
  (...parameters: any[]): any;
  async(...parameters: any[]): void;
}

export const lib: Readonly<Record<string, Call>>;
export const constants: Readonly<Record<string, number>>;
export function check(status: number): void;
export function cudaStatus(): { available: boolean; sentence: string };
export function stats(): Record<string, any>;

// The WebAssembly simulator as a JavaScript object: requests and answers are plain values.
//
// The module has no file, network or clock; of its host it needs only somewhere to say a last word
// if a promise of its own code is broken.

/** What the C library of the module asks of its host. */
function hostFunctions(memory, complain) {
  const view = () => new DataView(memory().buffer);
  const success = 0;
  const noSuchFile = 8;
  return {
    environ_get: () => success,
    environ_sizes_get(count, bytes) {
      view().setUint32(count, 0, true);
      view().setUint32(bytes, 0, true);
      return success;
    },
    fd_close: () => noSuchFile,
    fd_seek: () => noSuchFile,
    fd_write(file, vectors, count, written) {
      const decoder = new TextDecoder();
      let total = 0;
      for (let i = 0; i < count; i++) {
        const start = view().getUint32(vectors + 8 * i, true);
        const length = view().getUint32(vectors + 8 * i + 4, true);
        complain(decoder.decode(new Uint8Array(memory().buffer, start, length)));
        total += length;
      }
      view().setUint32(written, total, true);
      return success;
    },
    proc_exit(status) {
      throw new Error(`the simulator ended with status ${status}`);
    },
  };
}

/**
 * Starts a simulator.
 * @param {BufferSource} code the bytes of shardsim.wasm
 * @param {{complain?: (text: string) => void}} [options] where messages of last resort go
 * @returns {Promise<{addFiles: (bundle: object|string) => void, run: (request: object) => object}>}
 *   `run` takes {scenario, overrides, timeline, exact_ranks} and returns {result, timeline} or
 *   {failed: {kind, message}}.
 */
export async function startSimulator(code, { complain = () => {} } = {}) {
  let exported;
  const { instance } = await WebAssembly.instantiate(code, {
    wasi_snapshot_preview1: hostFunctions(() => exported.memory, complain),
  });
  exported = instance.exports;
  exported._initialize();

  const send = (value) => {
    const bytes = new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
    const start = exported.shardsim_reserve(bytes.length);
    new Uint8Array(exported.memory.buffer, start, bytes.length).set(bytes);
  };
  const receive = (length) =>
    new TextDecoder().decode(
      new Uint8Array(exported.memory.buffer, exported.shardsim_answer(), length),
    );

  return {
    addFiles(bundle) {
      send(bundle);
      if (exported.shardsim_add_files() !== 1) throw new Error('not a bundle of files');
    },
    run(request) {
      return JSON.parse(this.runText(request));
    },
    /** The answer as the simulator wrote it, for comparing byte by byte. */
    runText(request) {
      send(request);
      return receive(exported.shardsim_run());
    },
  };
}

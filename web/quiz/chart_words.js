// The words of a language in the form that the chart parts take.

const KINDS = ["parameters", "gradients", "optimizer", "activations"];

export function chartWords(words) {
  const { say, format, facts, labels } = words;
  const tableWords = { previous: say("rows_before"), next: say("rows_after"), page: words.page.rows };
  const table = say("table");
  const kinds = {
    ...Object.fromEntries(KINDS.map((kind) => [kind, facts[kind]])),
    gathered_parameters: labels.gathered,
    communication_buffers: say("communication_buffers"),
    other: say("other"),
  };
  const held = { ...kinds, activations: say("activations"), gathered_parameters: say("gathered") };
  return {
    held,
    bars: {
      table,
      tableWords,
      kinds,
      format,
      free: say("free"),
      used: words.page.used,
      about: say("capacity"),
      columns: { gpu: labels.run, part: say("part"), bytes: say("value"), share: say("share") },
    },
    curve: {
      table,
      tableWords,
      format,
      readout: words.page.point,
      hint: say("curve_hint"),
      columns: { series: labels.run },
    },
    streams: {
      table,
      tableWords,
      format,
      about: say("streams_about"),
      hint: say("streams_hint"),
      legend: Object.fromEntries(["compute", "copy", "optimizer", "hidden", "exposed", "cpu"].map((key) => [key, say(key)])),
      earlier: say("earlier"),
      later: say("later"),
      zoomIn: say("zoom_in"),
      zoomOut: say("zoom_out"),
      reset: say("whole_step"),
      operation: words.page.operation,
      joined: words.page.joined,
      exposedPart: words.page.exposed_part,
      gap: {
        communication: say("waits_for_communication"),
        peers: say("waits_for_peers"),
        copy: say("waits_for_copy"),
        cpu: say("waits_for_cpu"),
      },
      columns: {
        stream: say("stream"),
        name: say("operation_name"),
        what: say("kind"),
        start: say("start"),
        duration: say("duration"),
        exposed: facts.exposed,
      },
      joinedNote: "",
      streamNames: {},
      kindOf(name) {
        const plain = name.replace(" (recomputed)", "");
        const key = `kernel_${plain.replaceAll(" ", "_")}`;
        return words.has(key) ? name.replace(plain, say(key)) : name;
      },
    },
    memory: {
      table,
      tableWords,
      kinds: held,
      format,
      readout: words.page.allocated,
      columns: { time: labels.time, total: labels.memory_per_gpu },
    },
    plain: { table, tableWords, format },
  };
}

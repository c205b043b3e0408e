// Called as plain `mocha` on a Node that is too old, the tests would die in a native module without a word.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `The tests need Node 22.19 or newer; this is ${process.versions.node}. "npm test" finds one by itself.`,
  );
  process.exit(1);
}

module.exports = {
  spec: ['dist/test/**/*.test.js', 'dist/plugins/*/test/*.test.js'],
  timeout: 30000,
  slow: 2000,
  exit: true,
};

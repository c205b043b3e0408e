// Called as plain `mocha` on a Node that is too old, the tests would die in a native module without a word.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `The tests need Node 22.19 or newer; this is ${process.versions.node}. "npm test" finds one by itself.`,
  );
  process.exit(1);
}

// Mocha would run these besides the files that are named on the command line.
const isNamed = process.argv.slice(2).some((argument) => argument.endsWith('.test.js'));

module.exports = {
  spec: isNamed ? [] : ['dist/test/**/*.test.js', 'dist/plugins/*/test/*.test.js'],
  timeout: 120000,
  slow: 2000,
  exit: true,
};
